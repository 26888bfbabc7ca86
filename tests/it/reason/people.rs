//! Whose runs are whose, who may start one, and what of a request is wrong.

use switchboard::proto::reason::{
    CancelRequest, GetTraceRequest, Limits, ListRunsRequest, ResumeRequest, RunRequest, State,
};
use tokio_stream::StreamExt;
use tonic::Code;
use tonic_types::StatusExt;

use super::bed::{self, Bed, all, ask, reason};
use super::model::{Model, Say};

/// An id that no run has.
const NOBODY: &str = "0193e3c8-0000-7000-8000-000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn for_anybody_else_there_is_no_such_run() {
    let bed = Bed::chatting(Model::start(|_| Say::text("Hello.")).await, "").await;
    let events = bed.run(ask("Say hello.")).await;
    let run = events[0].run_id.clone();
    let mut client = bed.client().await;
    for (who, run) in [("clerk", run.as_str()), ("stranger", &run), ("agent", NOBODY)] {
        let id = run.to_owned();
        let resume = ResumeRequest { run_id: id.clone(), ..ResumeRequest::default() };
        let followed = client.resume(bed.with_token(who, resume)).await.map(drop);
        let trace = GetTraceRequest { run_id: id.clone() };
        let traced = client.get_trace(bed.with_token(who, trace)).await.map(drop);
        let cancel = CancelRequest { run_id: id.clone() };
        let cancelled = client.cancel(bed.with_token(who, cancel)).await.map(drop);
        let next = RunRequest { previous_run_id: id, ..ask("And then?") };
        let followed_up = bed.start(who, next).await.map(drop);
        for answered in [followed, traced, cancelled, followed_up] {
            let status = answered.unwrap_err();
            let told = (status.code(), reason(&status), status.message().to_owned());
            let none = format!("there is no run `{run}`");
            assert_eq!(told, (Code::NotFound, "UNKNOWN_RUN".to_owned(), none), "{who}");
        }
        if who != "agent" {
            assert!(bed.list(who, ListRunsRequest::default()).await.unwrap().runs.is_empty());
        }
    }
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert_eq!(listed.len(), 1, "nothing was started, and nothing ended");
    assert_eq!(listed[0].state(), State::Answered);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_forbidden_starts_no_run_and_leaves_a_record() {
    let model = Model::start(|_| Say::text("Hello.")).await;
    let forbid = "@id(\"no-clerks\") @owner(\"tests\")\nforbid (principal, action, resource)\n\
                  when { principal.name == \"clerk\" && context.models.contains(\"main\") };\n";
    let bed =
        Bed::chatting_with(model, "", |setup| setup.policy("reason/clerks.cedar", forbid)).await;
    let denied = bed.start("clerk", ask("Say hello.")).await.unwrap_err();
    assert_eq!(
        (denied.code(), reason(&denied).as_str()),
        (Code::PermissionDenied, "POLICY_DENIED")
    );
    assert!(denied.message().contains("no-clerks"), "{}", denied.message());
    bed::answer(&bed.run(ask("Say hello.")).await);
    assert_eq!(bed.model.asked(), 1);
    let records = bed.records("reason:run");
    let of = |who: &str| records.iter().find(|one| one["caller"] == who).unwrap();
    assert_eq!(
        (&of("clerk")["code"], &of("agent")["status"]),
        (&"POLICY_DENIED".into(), &"success".into())
    );
    assert_eq!(of("clerk")["facts"]["decision"]["policies"][0], "no-clerks");
    let unknown = RunRequest { agent: "nobody".into(), ..ask("Say hello.") };
    let unknown = bed.start("agent", unknown).await.unwrap_err();
    assert_eq!((unknown.code(), reason(&unknown).as_str()), (Code::NotFound, "UNKNOWN_AGENT"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_field_is_named_and_nothing_is_started() {
    let bed = Bed::by(|_| Say::text("Hello.")).await;
    let wrong = RunRequest {
        question: " ".into(),
        previous_run_id: "seven".into(),
        as_of: "31 June".into(),
        limits: Some(Limits { money: Some("-1".into()), ..Limits::default() }),
        ..RunRequest::default()
    };
    let status = bed.start("agent", wrong).await.unwrap_err();
    assert_eq!(
        (status.code(), reason(&status).as_str()),
        (Code::InvalidArgument, "MALFORMED_REQUEST")
    );
    let named = status.get_details_bad_request().unwrap().field_violations;
    let named: Vec<_> = named.into_iter().map(|one| one.field).collect();
    assert_eq!(named, ["question", "previous_run_id", "limits.money"]);
    let wrong = RunRequest { as_of: "31 June".into(), ..ask("When?") };
    let status = bed.start("agent", wrong).await.unwrap_err();
    let named = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(named[0].field, "as_of", "{status:?}");
    assert!(bed.list("agent", ListRunsRequest::default()).await.unwrap().runs.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_in_pages_and_by_state_and_conversation() {
    let model = Model::start(|seen| match seen.shown().contains("silent") {
        true => Say::Silence,
        false => Say::text("Hello."),
    });
    let bed = Bed::chatting(model.await, "").await;
    for number in 0..5 {
        let conversation_id = format!("c{}", number % 2);
        bed.run(RunRequest { conversation_id, ..ask(&format!("Say hello {number}.")) }).await;
    }
    let mut silent = bed.start("agent", ask("Be silent.")).await.unwrap();
    let running = silent.next().await.unwrap().unwrap().run_id;
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let asked =
            ListRunsRequest { page_size: 2, page_token: token, ..ListRunsRequest::default() };
        let page = bed.list("agent", asked).await.unwrap();
        assert!(page.runs.len() <= 2);
        seen.extend(page.runs);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!((seen.len(), &seen[0].run_id), (6, &running), "those started last come first");
    let asked = ListRunsRequest {
        states: vec![State::Running.into(), State::Waiting.into()],
        ..ListRunsRequest::default()
    };
    let found = bed.list("agent", asked).await.unwrap().runs;
    assert_eq!(found.iter().map(|one| &one.run_id).collect::<Vec<_>>(), [&running]);
    let asked = ListRunsRequest { conversation_id: "c1".into(), ..ListRunsRequest::default() };
    let found = bed.list("agent", asked).await.unwrap().runs;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one.conversation_id == "c1"), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_a_model_says_how_it_gets_to_reason() {
    let model = Model::start(|_| Say::text("Hello.")).await;
    let bed = Bed::with(model, "[reason]\nenabled = false\n", |setup| setup).await;
    let off = bed.start("agent", ask("Say hello.")).await.unwrap_err();
    assert_eq!((off.code(), reason(&off).as_str()), (Code::Unimplemented, "REASON_OFF"));
    assert!(off.message().contains("reason.enabled"), "{}", off.message());
    let mut health = tonic_health::pb::health_client::HealthClient::new(bed.daemon.channel().await);
    let service = "switchboard.reason.v1.ReasonService".to_owned();
    let asked = tonic_health::pb::HealthCheckRequest { service };
    let told = health.check(asked).await.unwrap().into_inner();
    assert_eq!(told.status(), tonic_health::pb::health_check_response::ServingStatus::NotServing);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_secret_in_a_question_is_kept_in_clear() {
    let bed = Bed::chatting(Model::start(|_| Say::text("Paid.")).await, "").await;
    let card = "4111 1111 1111 1111";
    let events = bed.run(ask(&format!("Who paid with {card}?"))).await;
    assert!(!format!("{events:?}").contains(card), "{events:#?}");
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert!(!listed[0].question.contains(card), "{listed:?}");
    assert!(!bed.records("reason:run")[0].to_string().contains("4111"));
    let again = all(bed.resume("agent", &events[0].run_id, 0).await.unwrap()).await.unwrap();
    assert_eq!(again, events);
}

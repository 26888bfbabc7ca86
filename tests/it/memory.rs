//! The memory of a real daemon, over gRPC: written, recalled, reviewed, forgotten; who may what; and what
//! is left when the daemon is killed.

mod answers;
mod bed;
mod bounds;
mod crash;
mod embedder;
mod faults;
mod images;
mod imports;
mod places;
mod raw;
mod records;
mod rights;
mod upstream;

use serde_json::json;
use switchboard::proto::memory::{
    ContextRequest, Draft, ExplainRequest, ForgetRequest, GetReceiptRequest, GetRequest,
    ListRequest, RecallRequest, RememberRequest, Stage, State, forget_request::What,
};
use tonic::Code;

use bed::{Bed, asked, evidence, reason, ticket};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_remembered_is_recalled_by_who_waited_for_it() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;

    let receipt =
        bed.remember("agent", ticket("T-1", "The pump PX-200 leaks at the shaft seal.")).await;
    assert_eq!(receipt.stage(), Stage::Stored, "{receipt:?}");
    let found = agent.recall(asked("which pump leaks at its seal?")).await.unwrap().into_inner();
    assert_eq!(evidence(&found), std::slice::from_ref(&receipt.evidence_id));
    assert!(found.failed.is_empty(), "{:?}", found.failed);
    let unit = found.hits[0].unit.clone().unwrap();
    assert_eq!((unit.owner.as_str(), unit.state()), ("agent", State::Active));
    assert!(found.hits[0].score > 0.0 && !found.hits[0].scores.is_empty());

    // Without waiting: the receipt is there at once, and a question can name it.
    let draft = Some(ticket("T-2", "Compressor K7 trips on high oil temperature."));
    let asked_now = RememberRequest { draft, ..RememberRequest::default() };
    let early = agent.remember(asked_now).await.unwrap().into_inner();
    let question =
        RecallRequest { after_receipts: vec![early.id.clone()], ..asked("compressor oil") };
    let found = agent.recall(question).await.unwrap().into_inner();
    assert_eq!(found.hits.len(), 1, "{found:?}");
    let last = GetReceiptRequest { receipt_id: early.id, wait_ms: 10_000 };
    let last = agent.get_receipt(last).await.unwrap().into_inner();
    assert_eq!(
        (last.stage(), last.evidence_id),
        (Stage::Stored, found.hits[0].evidence_id.clone())
    );

    // The same again costs nothing and changes nothing.
    let again =
        bed.remember("agent", ticket("T-1", "The pump PX-200 leaks at the shaft seal.")).await;
    assert_eq!((again.stage(), again.unit_id), (Stage::Unchanged, receipt.unit_id.clone()));

    // The next version takes the place of the first, whose history stays.
    let next = bed.remember("agent", ticket("T-1", "The pump PX-200 was sealed anew.")).await;
    assert_eq!((next.stage(), &next.unit_id), (Stage::Stored, &receipt.unit_id));
    let get = GetRequest { id: receipt.unit_id.clone(), history: true };
    let got = agent.get(get).await.unwrap().into_inner();
    assert_eq!(got.history.len(), 2);
    assert_eq!(got.unit.unwrap().evidence_id, next.evidence_id);
    let first = GetRequest { id: receipt.evidence_id, history: false };
    assert_eq!(agent.get(first).await.unwrap().into_inner().unit.unwrap().ended_why, "replaced");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_contexts_and_explanations_tell_the_same_units() {
    let bed = Bed::new().await;
    for number in 0..5 {
        let text = format!("Boiler B{number} shows error E{number}0 after a cold start.");
        bed.remember("agent", ticket(&format!("B-{number}"), &text)).await;
    }
    let mut agent = bed.client("agent").await;
    let page =
        |token: String| ListRequest { page_size: 2, page_token: token, ..ListRequest::default() };
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let got = agent.list(page(token)).await.unwrap().into_inner();
        seen.extend(got.units.into_iter().map(|unit| unit.draft.unwrap().source_id));
        token = got.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ["B-4", "B-3", "B-2", "B-1", "B-0"], "those recorded last come first");

    let question = asked("Boiler B3 error after cold start").question;
    let context = ContextRequest {
        question: question.clone(),
        budget_tokens: 600,
        instructions: "Answer with the error's number.".into(),
        turns: vec!["user: the boiler is down".into()],
        ..ContextRequest::default()
    };
    let made = agent.context(context).await.unwrap().into_inner();
    assert!(made.tokens <= 600 && made.text.contains("E30"), "{made:?}");
    assert!(made.text.contains("Answer with the error's number."), "{}", made.text);
    assert!(made.units.iter().any(|used| used.form == "whole"), "{made:?}");

    let unit = agent.recall(asked("Boiler B3")).await.unwrap().into_inner().hits[0].clone();
    let explain = ExplainRequest { question, unit_id: unit.unit.unwrap().unit_id };
    let told = agent.explain(explain).await.unwrap().into_inner();
    assert!(told.verdicts.iter().any(|one| one.place > 0), "{told:?}");
    assert!(!told.reading.unwrap().words.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forgotten_is_hidden_and_what_is_erased_is_gone() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    bed.remember("agent", ticket("F-1", "The valve V9 sticks.")).await;
    let receipt = bed.remember("agent", ticket("F-1", "The valve V9 sticks when frozen.")).await;
    // What came too late is history, and not what the unit says.
    let early = Draft {
        source_time: "2020-01-01".into(),
        ..ticket("F-1", "The valve V9 is new and runs well.")
    };
    assert_eq!(bed.remember("agent", early).await.stage(), Stage::Outdated);
    let id = receipt.unit_id.clone();
    let now =
        agent.get(GetRequest { id, history: false }).await.unwrap().into_inner().unit.unwrap();
    assert_eq!(now.evidence_id, receipt.evidence_id);
    let forget = |erase| ForgetRequest { what: Some(What::UnitId(receipt.unit_id.clone())), erase };
    let done = agent.forget(forget(false)).await.unwrap().into_inner();
    assert_eq!((done.unit_id, done.versions), (receipt.unit_id.clone(), 1));
    assert!(agent.recall(asked("frozen valve V9")).await.unwrap().into_inner().hits.is_empty());
    let get = |id: &str| GetRequest { id: id.to_owned(), history: false };
    let gone = agent.get(get(&receipt.unit_id)).await.unwrap_err();
    assert_eq!((gone.code(), reason(&gone)), (Code::NotFound, "UNKNOWN_UNIT".to_owned()));
    let past = agent.get(get(&receipt.evidence_id)).await.unwrap().into_inner().unit.unwrap();
    assert_eq!(past.ended_why, "forgotten");

    agent.forget(forget(true)).await.unwrap();
    assert_eq!(agent.get(get(&receipt.evidence_id)).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_is_what_its_current_version_says_and_nothing_once_it_is_forgotten() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let said = |text: &str, time: &str| {
        let mut draft = ticket("C-1", text);
        draft.source_time = time.to_owned();
        draft
    };
    let get = |id: &str| GetRequest { id: id.to_owned(), history: false };
    let first = bed.remember("agent", said("The fan F2 is loud at night.", "2026-03-01")).await;
    let next = bed.remember("agent", said("The fan F2 is silent again.", "2026-05-01")).await;
    // What came late is recorded last, and is history all the same.
    let late = bed.remember("agent", said("The fan F2 does not turn.", "2026-04-01")).await;
    assert_eq!((late.stage(), &late.unit_id), (Stage::Outdated, &first.unit_id));
    let unit = agent.get(get(&first.unit_id)).await.unwrap().into_inner().unit.unwrap();
    assert_eq!(unit.evidence_id, next.evidence_id);

    let what = Some(What::UnitId(first.unit_id.clone()));
    agent.forget(ForgetRequest { what, erase: false }).await.unwrap();
    let gone = agent.get(get(&first.unit_id)).await.unwrap_err();
    assert_eq!(reason(&gone), "UNKNOWN_UNIT", "no earlier version comes back");
    let whole = GetRequest { id: first.unit_id.clone(), history: true };
    assert_eq!(agent.get(whole).await.unwrap().into_inner().history.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_decided_request_has_its_record_and_none_holds_what_is_masked() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let secret = "4111 1111 1111 1111";
    let receipt = bed
        .remember("agent", ticket("R-1", &format!("Paid the spare seal with card {secret}.")))
        .await;
    let found =
        agent.recall(asked(&format!("who paid with {secret}?"))).await.unwrap().into_inner();
    let records = bed.records();
    let of = |name: &str| records.iter().find(|one| one["tool"] == name).unwrap().clone();
    let written = of("memory:remember");
    assert_eq!(written["caller"], "agent");
    assert_eq!(written["facts"]["decision"]["outcome"], "permit");
    let reply = bed.record(written["call_id"].as_str().unwrap());
    assert!(reply.contains(&receipt.id), "{reply}");
    let recalled = of("memory:recall");
    assert_eq!(recalled["call_id"], json!(found.record_id));
    let reply = bed.record(&found.record_id);
    for hit in &found.hits {
        assert!(reply.contains(&hit.evidence_id), "{reply}");
    }
    for record in &records {
        let all = record.to_string() + &bed.record(record["call_id"].as_str().unwrap());
        assert!(!all.contains(secret) && !all.contains("4111111111111111"), "{all}");
    }
    let unit = found.hits.first().and_then(|hit| hit.unit.clone());
    let text = unit.and_then(|unit| unit.draft).map(|draft| draft.text).unwrap_or_default();
    assert!(!text.contains("4111"), "{text}");
}

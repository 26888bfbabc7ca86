//! Who may do what: tenants apart, notes of one's own, what is denied looks like what is not there, and
//! files that change.

use switchboard::proto::memory::{
    Draft, ForgetRequest, GetRequest, Kind, ListReviewsRequest, Question, RecallRequest, Stage,
    StatsRequest, forget_request::What,
};
use tonic::{Code, Status};

use super::bed::{Bed, TICKETS, asked, reason, ticket};
use crate::daemon::eventually;

fn note(id: &str, text: &str) -> Draft {
    Draft {
        collection: "notes".into(),
        source: "chat/1".into(),
        source_id: id.into(),
        kind: Kind::Preference.into(),
        text: text.into(),
        ..Draft::default()
    }
}

fn alike(one: &Status, other: &Status, names: [&str; 2]) {
    let told = |status: &Status, name: &str| status.message().replace(name, "?");
    assert_eq!((one.code(), reason(one)), (other.code(), reason(other)));
    assert_eq!(told(one, names[0]), told(other, names[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_owners_do_not_see_each_other() {
    let bed = Bed::new().await;
    let receipt = bed.remember("agent", ticket("S-1", "The furnace F3 needs a new lining.")).await;
    let own = bed.remember("agent", note("n1", "Prefers answers in Celsius, always.")).await;
    assert_eq!(own.stage(), Stage::Stored, "{own:?}");

    let found = |who: &'static str, text: &'static str| {
        let bed = &bed;
        async move { bed.try_recall(who, text).await.unwrap().hits.len() }
    };
    assert_eq!(found("agent", "furnace lining").await, 1);
    assert_eq!(found("clerk", "furnace lining").await, 1, "tickets are of the whole tenant");
    assert_eq!(found("stranger", "furnace lining").await, 0);
    assert_eq!(found("agent", "answers in Celsius").await, 1);
    for other in ["clerk", "eve", "rita", "stranger"] {
        assert_eq!(found(other, "answers in Celsius").await, 0, "{other}");
    }
    // By its id it is as unknown as one that there never was.
    let never = uuid::Uuid::now_v7().to_string();
    for (who, id) in [("stranger", &receipt.unit_id), ("clerk", &own.unit_id)] {
        let get = |id: &str| GetRequest { id: id.to_owned(), history: true };
        let mut client = bed.client(who).await;
        let hidden = client.get(get(id)).await.unwrap_err();
        let missing = client.get(get(&never)).await.unwrap_err();
        alike(&hidden, &missing, [id, &never]);
        let forget =
            |id: &str| ForgetRequest { what: Some(What::UnitId(id.to_owned())), erase: false };
        let hidden = client.forget(forget(id)).await.unwrap_err();
        let missing = client.forget(forget(&never)).await.unwrap_err();
        alike(&hidden, &missing, [id, &never]);
    }
    let mut stranger = bed.client("stranger").await;
    let stats = stranger.stats(StatsRequest {}).await.unwrap().into_inner();
    assert_eq!((stats.units, stats.versions), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_policy_denies_looks_like_what_is_not_there() {
    let bed = Bed::new().await;
    let into =
        |name: &str| Draft { collection: name.to_owned(), ..ticket("D-1", "A long fact to keep.") };
    let denied = bed.try_remember("agent", into("manuals")).await.unwrap_err();
    let missing = bed.try_remember("agent", into("nowhere")).await.unwrap_err();
    assert_eq!(
        (missing.code(), reason(&missing)),
        (Code::NotFound, "UNKNOWN_COLLECTION".to_owned())
    );
    alike(&denied, &missing, ["manuals", "nowhere"]);

    let mut agent = bed.client("agent").await;
    let reviews = |name: &str| ListReviewsRequest {
        collections: vec![name.to_owned()],
        ..ListReviewsRequest::default()
    };
    let denied = agent.list_reviews(reviews("tickets")).await.unwrap_err();
    let missing = agent.list_reviews(reviews("nowhere")).await.unwrap_err();
    alike(&denied, &missing, ["tickets", "nowhere"]);
    let mut rita = bed.client("rita").await;
    assert!(rita.list_reviews(reviews("tickets")).await.is_ok());

    // The denial is on record, with the decision.
    let records = bed.records();
    let denied = records.iter().find(|one| one["code"] == "POLICY_DENIED").unwrap();
    assert_eq!(denied["tool"], "memory:review");
    assert_eq!(denied["facts"]["decision"]["outcome"], "deny");
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_collections_and_policies_hold_without_a_restart() {
    let bed = Bed::new().await;
    bed.remember("agent", ticket("C-1", "The crane C1 has a worn rope.")).await;
    let file = bed.daemon.setup.policies().join("memory/tickets.toml");
    let from = bed.daemon.logged();
    std::fs::write(&file, TICKETS.replace("read = [\"any\"]", "read = [\"caller:clerk\"]"))
        .unwrap();
    let named = || {
        let question = Question {
            text: "worn rope".into(),
            collections: vec!["tickets".into()],
            ..Question::default()
        };
        RecallRequest { question: Some(question), ..RecallRequest::default() }
    };
    let agent = bed.client("agent").await;
    eventually("the agent may not read any more", || {
        let mut agent = agent.clone();
        async move { agent.recall(named()).await.is_err_and(|why| why.code() == Code::NotFound) }
    })
    .await;
    assert_eq!(bed.try_recall("clerk", "worn rope").await.unwrap().hits.len(), 1);

    // A broken file keeps the last good state, and the log says so.
    std::fs::write(&file, "name = ").unwrap();
    bed.daemon.log_line(from, "a collection cannot be used");
    assert_eq!(bed.try_recall("clerk", "worn rope").await.unwrap().hits.len(), 1);
    let cedar = bed.daemon.setup.policies().join("memory/default.cedar");
    std::fs::write(&cedar, "permit (principal, action, resource);").unwrap();
    bed.daemon.log_line(from, "of the memory were not taken");
    assert_eq!(bed.try_recall("clerk", "worn rope").await.unwrap().hits.len(), 1);
    std::fs::write(&file, TICKETS).unwrap();
    std::fs::write(&cedar, "").unwrap();
    eventually("nothing is permitted without a policy", || {
        let mut agent = agent.clone();
        async move { agent.recall(asked("worn rope")).await.is_err() }
    })
    .await;
}

//! What is beside a unit, asked for by the unit.

use switchboard::proto::memory::spot::{Adjacent, Shape};
use switchboard::proto::memory::{
    Draft, ListRequest, Place, Question, RecallRequest, Spot, StatsRequest,
};
use tonic::Code;

use super::bed::{Bed, ticket};

fn pump(id: &str, (latitude, longitude): (f64, f64)) -> Draft {
    let place = Place { latitude, longitude, r#type: "pump".into() };
    Draft { place: Some(place), ..ticket(id, &format!("The pump {id} stands here.")) }
}

fn beside(unit: &str, metres: f64) -> Option<Spot> {
    let adjacent = Adjacent { unit_id: unit.to_owned(), metres };
    Some(Spot { shape: Some(Shape::Adjacent(adjacent)), types: Vec::new() })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_beside_a_unit_comes_nearest_first_and_without_the_unit_itself() {
    let bed = Bed::new().await;
    let own = bed.remember("agent", pump("P-0", (0.0, 179.9999))).await.unit_id;
    // 22 metres to the east across the 180th meridian, 111 to the north, and too far away.
    for (id, place) in
        [("P-2", (0.001, 179.9999)), ("P-1", (0.0, -179.9999)), ("P-9", (0.0, 179.9))]
    {
        bed.remember("agent", pump(id, place)).await;
    }
    let bare = bed.remember("agent", ticket("T-1", "It stands nowhere.")).await.unit_id;
    let mut agent = bed.client("agent").await;
    let ask = |spot, top_k| {
        let question = Question { spot, top_k, ..Question::default() };
        RecallRequest { question: Some(question), ..RecallRequest::default() }
    };
    let found = agent.recall(ask(beside(&own, 1000.0), 0)).await.unwrap().into_inner();
    let ids = |units: Vec<Option<Draft>>| -> Vec<String> {
        units.into_iter().map(|draft| draft.unwrap().source_id).collect()
    };
    let metres: Vec<f64> = found.hits.iter().map(|hit| hit.metres.unwrap()).collect();
    let hits = found.hits.into_iter().map(|hit| hit.unit.unwrap().draft).collect();
    assert_eq!(ids(hits), ["P-1", "P-2"]);
    assert!((metres[0] - 22.264).abs() < 0.01 && metres[1] > 110.0, "{metres:?}");
    let one = agent.recall(ask(beside(&own, 1000.0), 1)).await.unwrap().into_inner();
    assert_eq!(ids(one.hits.into_iter().map(|hit| hit.unit.unwrap().draft).collect()), ["P-1"]);

    let list = ListRequest { spot: beside(&own, 1000.0), page_size: 1, ..ListRequest::default() };
    let page = agent.list(list.clone()).await.unwrap().into_inner();
    assert_eq!(ids(page.units.into_iter().map(|unit| unit.draft).collect()), ["P-1"]);
    let next = ListRequest { page_token: page.next_page_token, ..list };
    let page = agent.list(next).await.unwrap().into_inner();
    assert_eq!(ids(page.units.into_iter().map(|unit| unit.draft).collect()), ["P-2"]);

    let told = bed.cli("agent", &["memory", "recall", "", "--adjacent", &own, "--json"]);
    let hits = crate::daemon::lines(&told)[0]["hits"].clone();
    assert_eq!(hits[0]["unit"]["draft"]["source_id"], "P-1", "{told:?}");

    // One without a place, and one of another tenant, have nothing beside them.
    let wrong = agent.recall(ask(beside(&bare, 10.0), 0)).await.unwrap_err();
    assert_eq!(wrong.code(), Code::InvalidArgument);
    assert!(wrong.message().contains("has no place"), "{wrong}");
    let mut stranger = bed.client("stranger").await;
    let wrong = stranger.recall(ask(beside(&own, 10.0), 0)).await.unwrap_err();
    assert!(!wrong.message().contains("has no place"), "{wrong}");
    let unread = agent.recall(ask(beside("P-0", -1.0), 0)).await.unwrap_err();
    assert_eq!(unread.code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_tell_how_far_the_vectors_are() {
    let config = "[memory.embedder]\nkind = \"endpoint\"\n[memory.embedder.endpoint]\n\
        url = \"http://127.0.0.1:9/v1/embeddings\"\nmodel = \"m\"\ndimensions = 4\n\
        attempts = 1\ntimeout = \"2s\"\n";
    let bed = Bed::with(config, |setup| setup).await;
    bed.remember("agent", ticket("V-1", "The vent V1 rattles.")).await;
    let client = bed.client("agent").await;
    crate::daemon::eventually("stats tell of the chunk without a vector", || {
        let mut client = client.clone();
        async move {
            let stats = client.stats(StatsRequest {}).await.unwrap().into_inner();
            let far = stats.embedding.unwrap();
            (far.made, far.missing) == (0, 1) && far.fault.contains("cannot be reached")
        }
    })
    .await;
}

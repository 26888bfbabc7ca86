//! Answers and streams within what client libraries take by default: many short messages, large units, many
//! faults, pages; and conditions that mean what they say.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use serde_json::json;
use switchboard::proto::memory::filter::Compare;
use switchboard::proto::memory::{
    Draft, Fact, Filter, GetRequest, ListRequest, Question, RecallRequest, RememberManyRequest,
    RememberManyResponse, Stage, State,
};
use tonic::Code;

use super::bed::{Bed, PLAIN, evidence, fields, ticket};

/// The messages of a gRPC body.
fn messages(mut body: &[u8]) -> Vec<RememberManyResponse> {
    let mut all = Vec::new();
    while let Some((head, rest)) = body.split_first_chunk::<5>() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let (message, rest) = rest.split_at(usize::try_from(length).unwrap());
        all.push(RememberManyResponse::decode(message).unwrap());
        body = rest;
    }
    all
}

/// Some libraries send each message in a frame of its own, faster than it is worked on.
#[tokio::test(flavor = "multi_thread")]
async fn many_short_drafts_in_frames_of_their_own_are_all_answered() {
    const COUNT: usize = 10_000;
    let bed = Bed::new().await;
    let stream = tokio::net::TcpStream::connect(bed.daemon.address("tcp")).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let frames = (0..COUNT).map(|number| {
        let draft = ticket(&number.to_string(), &format!("Fan {number}"));
        let message = RememberManyRequest { draft: Some(draft), images: Vec::new() };
        let mut bytes = BytesMut::new();
        bytes.put_u8(0);
        bytes.put_u32(u32::try_from(message.encoded_len()).unwrap());
        message.encode(&mut bytes).unwrap();
        Ok::<_, Infallible>(Frame::data(bytes.freeze()))
    });
    let request =
        hyper::Request::post("http://localhost/switchboard.memory.v1.MemoryService/RememberMany")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", format!("Bearer {}", bed.token("agent")))
            .body(StreamBody::new(tokio_stream::iter(frames)))
            .unwrap();
    let answer = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
    let status = answer.trailers().unwrap()["grpc-status"].clone();
    let body: Bytes = answer.to_bytes();
    let written: usize = messages(&body).iter().map(|one| one.written.len()).sum();
    assert_eq!((status.to_str().unwrap(), written), ("0", COUNT));
    connection.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn large_units_keep_nobody_from_the_others() {
    let bed = Bed::new().await;
    for number in 0..6 {
        let text = format!("The log of fan {number} says: {}", "all is well here. ".repeat(40_000));
        bed.remember("agent", ticket(&format!("L-{number}"), &text)).await;
    }
    bed.remember("agent", ticket("S-1", "The fan 7 hums.")).await;
    let mut clerk = bed.client("clerk").await.max_decoding_message_size(4 << 20);
    let question = Question { text: "fan log".into(), top_k: 200, ..Question::default() };
    let asked = RecallRequest { question: Some(question), ..RecallRequest::default() };
    let found = clerk.recall(asked).await.unwrap().into_inner();
    assert_eq!(found.hits.len(), 7);
    let cut: Vec<_> = found.hits.iter().filter_map(|hit| hit.unit.clone()).collect();
    assert!(cut[0].left_out.is_empty(), "the best is whole");
    let cut = cut.into_iter().find(|unit| !unit.left_out.is_empty()).unwrap();
    assert_eq!(cut.left_out, ["text"]);
    let hit = found.hits.iter().find(|hit| hit.evidence_id == cut.evidence_id).unwrap();
    assert!(hit.passages.iter().any(|one| one.text.contains("all is well")), "{:?}", hit.passages);
    let get = GetRequest { id: cut.evidence_id, history: false };
    let whole = clerk.get(get).await.unwrap().into_inner().unit.unwrap();
    assert!(whole.left_out.is_empty() && whole.draft.unwrap().text.len() > 700_000);

    for any_date in [false, true] {
        let (mut seen, mut pages, mut token) = (Vec::new(), 0, String::new());
        loop {
            let page = ListRequest {
                page_size: 1000,
                page_token: token,
                any_date,
                ..ListRequest::default()
            };
            let page = clerk.list(page).await.unwrap().into_inner();
            seen.extend(page.units.into_iter().map(|unit| unit.draft.unwrap().source_id));
            (pages, token) = (pages + 1, page.next_page_token);
            if token.is_empty() {
                break;
            }
        }
        seen.sort();
        assert_eq!(seen, ["L-0", "L-1", "L-2", "L-3", "L-4", "L-5", "S-1"]);
        assert!(pages > 1, "they do not fit into one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_goes_on_only_by_the_token_that_was_given_for_it() {
    let bed = Bed::new().await;
    for number in 0..3 {
        bed.remember("agent", ticket(&format!("P-{number}"), &format!("Pump {number} runs.")))
            .await;
    }
    let mut agent = bed.client("agent").await;
    let page = |token: &str, held| ListRequest {
        page_size: 1,
        page_token: token.to_owned(),
        held,
        ..ListRequest::default()
    };
    let token = agent.list(page("", false)).await.unwrap().into_inner().next_page_token;
    assert_eq!(agent.list(page(&token, false)).await.unwrap().into_inner().units.len(), 1);
    for (forged, held) in [("1", false), ("-1", false), (token.as_str(), true)] {
        let refused = agent.list(page(forged, held)).await.unwrap_err();
        assert_eq!(
            (refused.code(), fields(&refused)),
            (Code::InvalidArgument, vec!["page_token".into()])
        );
    }
    let refused = bed.client("clerk").await.list(page(&token, false)).await.unwrap_err();
    assert_eq!(fields(&refused), ["page_token"]);
}

/// Tickets with a field of each type.
const TYPED: &str = r#"
name = "typed"
description = "Fields of each type, for tests."
layer = "notes"
kinds = ["case"]
sources = ["desk/*"]
origin = "person"
trust = { person = 60 }
time_zone = "Asia/Shanghai"

[access]
read = ["any"]
write = ["any"]
review = ["role:reviewer"]

[metadata]
at = { type = "time" }
n = { type = "integer" }
done = { type = "boolean", required = false }
tags = { type = "texts", required = false }
"#;

fn filter(field: &str, compare: Compare, values: &[&str]) -> Filter {
    Filter {
        field: field.into(),
        compare: compare.into(),
        values_json: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_is_read_as_its_field_was_written_or_refused() {
    let bed = Bed::with(PLAIN, |setup| setup.policy("memory/typed.toml", TYPED)).await;
    for (id, n) in [("1", 9_007_199_254_740_992_u64), ("2", 9_007_199_254_740_993)] {
        let metadata = json!({ "at": "2026-03-01T09:00:00", "n": n, "tags": ["a"] });
        let draft = Draft {
            collection: "typed".into(),
            metadata_json: metadata.to_string(),
            ..ticket(id, &format!("The typed fan {id} hums."))
        };
        bed.remember("agent", draft).await;
    }
    let mut agent = bed.client("agent").await;
    let ask = |filter: Filter| RecallRequest {
        question: Some(Question {
            collections: vec!["typed".into()],
            filters: vec![filter],
            ..Question::default()
        }),
        ..RecallRequest::default()
    };
    let finds = [
        (filter("at", Compare::Any, &["\"2026-03-01T09:00:00\""]), 2),
        (filter("at", Compare::More, &["\"2026-03-01T09:00:00\""]), 0),
        (filter("at", Compare::AtLeast, &["\"2026-03-01T09:00:00[Asia/Shanghai]\""]), 2),
        (filter("at", Compare::Any, &["\"2026-03-01T01:00:00Z\""]), 2),
        (filter("n", Compare::Any, &["9007199254740993"]), 1),
        (filter("n", Compare::More, &["9007199254740992"]), 1),
        (filter("n", Compare::Any, &["9007199254740993", "\"9007199254740993\""]), 1),
        (filter("tags", Compare::Any, &["\"a\""]), 2),
        (filter("source", Compare::Any, &["\"desk/one\""]), 2),
    ];
    for (filter, count) in finds {
        let found = agent.recall(ask(filter.clone())).await.unwrap().into_inner();
        assert_eq!(evidence(&found).len(), count, "{filter:?}");
    }
    let refusals = [
        (filter("at", Compare::Any, &["\"zzz\""]), "values_json", "zzz"),
        (filter("at", Compare::Any, &["\"2026-02-30\""]), "values_json", "2026-02-30"),
        (filter("n", Compare::Any, &["\"abc\""]), "values_json", "a whole number"),
        (filter("n", Compare::Any, &["5", "\"abc\""]), "values_json", "a whole number"),
        (filter("done", Compare::Any, &["1"]), "values_json", "`true` or `false`"),
        (filter("tags", Compare::Less, &["\"a\""]), "compare", "no order"),
        (filter("att", Compare::Any, &["1"]), "field", "`at`, `done`, `n`, `tags`, `source`"),
        (filter("kind", Compare::Any, &["1"]), "values_json", "a text"),
    ];
    for (filter, member, says) in refusals {
        let refused = agent.recall(ask(filter.clone())).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{filter:?}: {refused:?}");
        assert_eq!(fields(&refused), [format!("question.filters[0].{member}")], "{refused:?}");
        assert!(refused.message().contains(says), "{refused:?}");
    }
    let list = ListRequest {
        collections: vec!["typed".into()],
        filters: vec![filter("att", Compare::Any, &["1"])],
        ..ListRequest::default()
    };
    assert_eq!(fields(&agent.list(list).await.unwrap_err()), ["filters[0].field"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_is_never_plain_evidence() {
    let bed = Bed::new().await;
    let said = |id: &str, attribute: &str, bar: &str| Draft {
        facts: vec![Fact {
            entity: "V1".into(),
            attribute: attribute.into(),
            value: bar.into(),
            unit: "bar".into(),
        }],
        ..ticket(id, &format!("The valve V1 opens at {bar} bar, says sheet {id}."))
    };
    bed.remember("agent", said("1", "pressure", "5")).await;
    // However its attribute is written.
    let held = bed.remember("agent", said("2", " PRESSURE", "9")).await;
    assert_eq!(held.stage(), Stage::Held, "{held:?}");
    let question = Question { text: "valve V1 opens".into(), held: true, ..Question::default() };
    let asked = RecallRequest { question: Some(question), ..RecallRequest::default() };
    let found = bed.client("agent").await.recall(asked).await.unwrap().into_inner();
    assert_eq!(found.hits.len(), 2, "{found:?}");
    for hit in found.hits {
        let plain = hit.unit.unwrap().state() == State::Active;
        assert_eq!(hit.withheld.is_empty(), plain, "{}", hit.withheld);
        assert!(plain || hit.withheld.starts_with("held"), "{}", hit.withheld);
    }
    let mut twice = said("3", "pressure", "5");
    twice.facts.extend(said("3", "Pressure", "6").facts);
    let refused = bed.try_remember("agent", twice).await.unwrap_err();
    assert_eq!(fields(&refused), ["/facts/1/value"], "{refused:?}");
}

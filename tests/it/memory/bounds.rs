//! What one request may hold, what is done for one that will be refused, and streams and exports that are told
//! when they are not whole.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use switchboard::proto::memory::filter::Compare;
use switchboard::proto::memory::remember_many_response::written::Outcome;
use switchboard::proto::memory::spot::{Area, Shape};
use switchboard::proto::memory::{
    ContextRequest, Draft, Entity, Filter, ImageFile, ListRequest, Place, Point, Question,
    RecallRequest, RememberManyRequest, RememberRequest, Spot,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::bed::{Bed, reason, ticket};
use crate::daemon::lines;

const IMAGE: &[u8] = include_bytes!("../../fixtures/images/english.png");

fn fields(status: &Status) -> Vec<String> {
    let bad = status.get_details_bad_request();
    bad.map(|bad| bad.field_violations.into_iter().map(|one| one.field).collect())
        .unwrap_or_default()
}

fn image() -> ImageFile {
    ImageFile { content: IMAGE.to_vec().into(), ..ImageFile::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_holds_too_much_names_its_field() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let none = Question::default;
    let long = || "x".repeat(3000);
    let entity = |value: String| Entity { kind: String::new(), value };
    let filter = |values: usize, field: String| Filter {
        field,
        compare: Compare::None.into(),
        values_json: vec!["1".to_owned(); values],
    };
    let ring = |points: &[(f64, f64)]| {
        let point = |&(latitude, longitude): &(f64, f64)| Point { latitude, longitude };
        let area = Area { ring: points.iter().map(point).collect() };
        Some(Spot { shape: Some(Shape::Area(area)), types: Vec::new() })
    };
    let (twice, around) =
        ([(1.0, 1.0), (1.0, 1.0), (2.0, 2.0)], [(1.0, 0.0), (1.0, 180.0), (2.0, 9.0)]);
    let cases = [
        (Question { entities: vec![entity(String::new()); 65], ..none() }, "question.entities"),
        (Question { entities: vec![entity(long())], ..none() }, "question.entities"),
        (Question { collections: vec![String::new(); 257], ..none() }, "question.collections"),
        (Question { collections: vec![long()], ..none() }, "question.collections"),
        (
            Question { filters: vec![filter(257, "line".into())], ..none() },
            "question.filters[0].values_json",
        ),
        (Question { filters: vec![filter(200, "line".into()); 3], ..none() }, "question.filters"),
        (Question { filters: vec![filter(1, long())], ..none() }, "question.filters[0].field"),
        (Question { time_zone: long(), ..none() }, "question.time_zone"),
        (Question { text: "x".repeat(40 << 10), ..none() }, "question.text"),
        (Question { spot: ring(&twice), ..none() }, "question.spot.area.ring"),
        (Question { spot: ring(&around), ..none() }, "question.spot.area.ring"),
        (Question { spot: ring(&[(91.0, 1.0)]), ..none() }, "question.spot.area.ring"),
    ];
    for (wrong, field) in cases {
        let asked = RecallRequest { question: Some(wrong), ..RecallRequest::default() };
        let refused = agent.recall(asked).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}: {refused:?}");
        assert_eq!(fields(&refused), [field], "{refused:?}");
    }
    let refused = ListRequest { spot: ring(&twice), ..ListRequest::default() };
    assert_eq!(fields(&agent.list(refused).await.unwrap_err()), ["spot.area.ring"]);
    let much = ContextRequest {
        question: Some(none()),
        turns: vec!["x".repeat(3 << 20)],
        results: vec!["x".repeat(2 << 20)],
        ..ContextRequest::default()
    };
    assert_eq!(fields(&agent.context(much).await.unwrap_err()), ["results"]);
    // Of many faults so many are told as can be read.
    let draft = Draft { derived_from: vec!["no id".to_owned(); 5000], ..ticket("D", "A draft.") };
    let refused = bed.try_remember("agent", draft).await.unwrap_err();
    assert_eq!((refused.code(), fields(&refused).len()), (Code::InvalidArgument, 16));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_image_is_read_for_a_draft_that_is_refused() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let nowhere = Draft { collection: "manuals".into(), ..ticket("I-1", "Of the pump, in short.") };
    let unfit = Draft { metadata_json: String::new(), ..ticket("I-2", "Of the fan, in short.") };
    for (draft, why) in [(nowhere.clone(), "UNKNOWN_COLLECTION"), (unfit, "DRAFT_REFUSED")] {
        let asked = RememberRequest { draft: Some(draft), images: vec![image()], wait: true };
        assert_eq!(reason(&agent.remember(asked).await.unwrap_err()), why);
    }
    // In a stream the others are taken.
    let one =
        |draft: Draft, images: Vec<ImageFile>| RememberManyRequest { draft: Some(draft), images };
    let stream = [
        one(ticket("I-3", "The press P1 stops."), Vec::new()),
        one(ticket("I-4", "The press P2 stops."), vec![ImageFile::default(); 17]),
        one(nowhere, vec![image()]),
        one(ticket("I-5", "The press P3 stops."), Vec::new()),
    ];
    let answers = agent.remember_many(tokio_stream::iter(stream)).await.unwrap().into_inner();
    let written: Vec<_> = answers.map(|answer| answer.unwrap().written).collect().await;
    let reasons: Vec<String> = written
        .into_iter()
        .flatten()
        .map(|one| match one.outcome {
            Some(Outcome::Refusal(refusal)) => refusal.reason,
            _ => String::new(),
        })
        .collect();
    assert_eq!(reasons, ["", "MALFORMED_REQUEST", "UNKNOWN_COLLECTION", ""]);
    let records = bed.records();
    assert!(records.iter().all(|one| one["tool"] != "image.ocr"), "{records:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_the_daemon_ends_is_told_so() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let (send, sent) = mpsc::channel(4);
    let one = |id: &str| RememberManyRequest {
        draft: Some(ticket(id, &format!("The crane {id} has a worn rope."))),
        images: Vec::new(),
    };
    send.send(one("1")).await.unwrap();
    let mut answers = agent.remember_many(ReceiverStream::new(sent)).await.unwrap().into_inner();
    assert_eq!(answers.next().await.unwrap().unwrap().written.len(), 1);
    bed.daemon.signal("TERM");
    let ended = answers.next().await.unwrap().unwrap_err();
    assert_eq!((ended.code(), reason(&ended)), (Code::Unavailable, "DRAINING".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_holds_what_holds_at_any_date() {
    let bed = Bed::new().await;
    let dated = |id: &str, from: &str, to: &str| Draft {
        valid_from: from.into(),
        valid_to: to.into(),
        ..ticket(id, &format!("Rule {id} of the crane."))
    };
    for draft in
        [dated("now", "", ""), dated("past", "", "2020-01-01"), dated("next", "2100-01-01", "")]
    {
        bed.remember("agent", draft).await;
    }
    let changed = Draft { text: "Rule now, said anew.".into(), ..dated("now", "", "") };
    bed.remember("agent", changed).await;
    let out = bed.daemon.folder().join("all.jsonl");
    std::fs::write(&out, "what was there\n".repeat(1000)).unwrap();
    let path = out.display().to_string();
    let done = bed.cli("agent", &["memory", "export", "--out", &path]);
    assert!(done.status.success(), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("3 units written"), "{done:?}");
    let text = std::fs::read_to_string(&out).unwrap();
    let ids: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|unit| unit["source_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["past", "next", "now"], "those recorded first come first");
    assert_eq!(std::fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);

    // Page by page, and what the pages have in common with a list.
    let mut agent = bed.client("agent").await;
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let page = ListRequest {
            any_date: true,
            page_size: 1,
            page_token: token,
            ..ListRequest::default()
        };
        let page = agent.list(page).await.unwrap().into_inner();
        seen.extend(page.units.into_iter().map(|unit| unit.draft.unwrap().source_id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ids);
    let dated =
        ListRequest { any_date: true, as_of: "2026-01-01".into(), ..ListRequest::default() };
    assert_eq!(fields(&agent.list(dated).await.unwrap_err()), ["any_date"]);
    let stranger = ListRequest { any_date: true, ..ListRequest::default() };
    let stranger = bed.client("stranger").await.list(stranger).await.unwrap().into_inner();
    assert!(stranger.units.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_asks_by_place_kind_entity_and_number() {
    let bed = Bed::new().await;
    let at = |id: &str, longitude: f64, kind: &str| Draft {
        place: Some(Place { latitude: 31.23, longitude, r#type: kind.into() }),
        ..ticket(id, &format!("Store {id} has a broken door."))
    };
    bed.remember("agent", at("near", 121.47, "store")).await;
    bed.remember("agent", at("far", 121.60, "store")).await;
    bed.remember("agent", at("site", 121.47, "site")).await;
    let numbered = Draft {
        metadata_json: json!({ "line": "2" }).to_string(),
        entities: vec![Entity { kind: "part".into(), value: "door hinge".into() }],
        ..ticket("numbered", "The hinge squeaks.")
    };
    bed.remember("agent", numbered).await;
    let ids = |arguments: &[&str]| {
        let all: Vec<&str> = ["memory", "recall"].iter().chain(arguments).copied().collect();
        let found = bed.cli("agent", &[&all[..], &["--json"]].concat());
        assert!(found.status.success(), "{found:?}");
        let hits = lines(&found)[0]["hits"].as_array().unwrap().clone();
        let mut ids: Vec<String> = hits
            .iter()
            .map(|hit| hit["unit"]["draft"]["source_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let here = ["broken door", "--near", "31.23,121.47", "--within", "1000"];
    assert_eq!(ids(&here), ["near", "site"]);
    assert_eq!(ids(&[&here[..], &["--place", "store"]].concat()), ["near"]);
    assert_eq!(ids(&["broken door", "--kind", "knowledge"]), [] as [&str; 0]);
    assert_eq!(ids(&["", "--filter", "line=2"]), ["numbered"]);
    assert_eq!(
        ids(&["what squeaks", "--entity", "part=door hinge", "--kind", "case"]),
        ["numbered"]
    );
    let wrong = bed.cli("agent", &["memory", "recall", "x", "--near", "here"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");

    let listed = bed.cli("agent", &["memory", "list", "--near", "31.23,121.60", "--within", "10"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("far") && !listed.contains("near"), "{listed}");
    let stats = bed.cli("agent", &["memory", "stats"]);
    let stats = String::from_utf8_lossy(&stats.stdout).into_owned();
    assert!(stats.contains("embedder: none"), "{stats}");
}

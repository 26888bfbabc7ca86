//! Bad input, and a memory that cannot do what it is asked: each a clear error, nothing lost, and tools go
//! on.

use serde_json::json;
use switchboard::proto::memory::remember_many_response::written::Outcome;
use switchboard::proto::memory::{
    Draft, GetReceiptRequest, Question, RecallRequest, RememberManyRequest, RememberRequest, Sense,
    Stage, StatsRequest,
};
use tokio_stream::StreamExt;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

use super::bed::{Bed, PLAIN, asked, fields, reason, ticket};
use crate::daemon::{code, http};

/// A store at this path.
fn at(path: &std::path::Path) -> String {
    format!("{PLAIN}[memory.store]\nkind = \"sqlite\"\npath = \"{}\"\n", path.display())
}

async fn health(bed: &Bed) -> ServingStatus {
    let mut client = HealthClient::new(bed.daemon.channel().await);
    let service = "switchboard.memory.v1.MemoryService".to_owned();
    client.check(HealthCheckRequest { service }).await.unwrap().into_inner().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_does_not_fit_is_refused_and_every_place_is_named() {
    let bed = Bed::new().await;
    let fine = || ticket("X-1", "The press P1 stops in mid stroke.");
    let cases: Vec<(Draft, &str)> = vec![
        (Draft { metadata_json: String::new(), ..fine() }, "/metadata/line"),
        (Draft { metadata_json: json!({ "line": 7 }).to_string(), ..fine() }, "/metadata/line"),
        (
            Draft { metadata_json: json!({ "line": "a", "colour": "b" }).to_string(), ..fine() },
            "/metadata/colour",
        ),
        (
            Draft { metadata_json: json!({ "line": "a", "opened": "soon" }).to_string(), ..fine() },
            "/metadata/opened",
        ),
        (
            Draft { valid_from: "2026-05-01".into(), valid_to: "2026-04-01".into(), ..fine() },
            "/valid_to",
        ),
        (Draft { valid_from: "1772355600".into(), ..fine() }, "/valid_from"),
        (Draft { source: "elsewhere/1".into(), ..fine() }, "/source"),
        (Draft { metadata_json: "{\"line\":".into(), ..fine() }, "/metadata"),
        (Draft { kind: 99, ..fine() }, "/kind"),
    ];
    for (draft, field) in cases {
        let refused = bed.try_remember("agent", draft.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}: {refused:?}");
        assert!(fields(&refused).iter().any(|one| one == field), "{field}: {refused:?}");
    }
    // All that is wrong is told at once.
    let draft = Draft { source: "elsewhere/1".into(), metadata_json: String::new(), ..fine() };
    assert!(fields(&bed.try_remember("agent", draft).await.unwrap_err()).len() >= 2);

    let long = Draft { text: "Far too long. ".repeat(4 << 20), ..fine() };
    let refused = bed.try_remember("agent", long).await.unwrap_err();
    assert!(refused.message().contains("too large"), "{refused:?}");
    let long = Draft { text: "Too long a text. ".repeat(1 << 20), ..fine() };
    let refused = bed.try_remember("agent", long).await.unwrap_err();
    assert_eq!(fields(&refused), ["/text"], "{refused:?}");

    // In a stream a refused one stands in its place, and the others are taken.
    let drafts = [
        fine(),
        Draft { metadata_json: String::new(), ..fine() },
        ticket("X-2", "The press P2 leaks oil."),
    ];
    let stream = drafts.map(|draft| RememberManyRequest { draft: Some(draft), images: Vec::new() });
    let answers =
        bed.client("agent").await.remember_many(tokio_stream::iter(stream)).await.unwrap();
    let mut answers = answers.into_inner();
    let mut written = Vec::new();
    while let Some(answer) = answers.next().await {
        written.extend(answer.unwrap().written);
    }
    let refused: Vec<bool> =
        written.iter().map(|one| matches!(one.outcome, Some(Outcome::Refusal(_)))).collect();
    assert_eq!(refused, [false, true, false], "{written:?}");
    assert_eq!(written.iter().map(|one| one.index).collect::<Vec<_>>(), [0, 1, 2]);
    let Some(Outcome::Refusal(refusal)) = &written[1].outcome else { panic!() };
    assert_eq!(refusal.reason, "DRAFT_REFUSED");
    assert_eq!(refusal.violations[0].field, "/metadata/line");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_cannot_be_asked_names_its_field() {
    let bed = Bed::new().await;
    let mut agent = bed.client("agent").await;
    let question =
        |question: Question| RecallRequest { question: Some(question), ..RecallRequest::default() };
    let cases = [
        (Question { as_of: "yesterday".into(), ..Question::default() }, "as_of"),
        (Question { known_at: "2026-02-30".into(), ..Question::default() }, "known_at"),
        (Question { time_zone: "Mars/Base".into(), ..Question::default() }, "time_zone"),
        (Question { top_k: 5000, text: "x".into(), ..Question::default() }, "question.top_k"),
        (Question { kinds: vec![77], ..Question::default() }, "question.kinds"),
    ];
    for (wrong, field) in cases {
        let refused = agent.recall(question(wrong)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}: {refused:?}");
        assert_eq!(fields(&refused), [field], "{refused:?}");
    }
    let named = Question { collections: vec!["nowhere".into()], ..Question::default() };
    let refused = agent.recall(question(named)).await.unwrap_err();
    assert_eq!(reason(&refused), "UNKNOWN_COLLECTION");
    // Nothing in a question is syntax.
    for text in ["NEAR(", "\"ok", "a%_b", "'; DROP TABLE units;--", "*", "", "(rust AND"] {
        agent.recall(asked(text)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_embedder_recall_goes_on_and_says_so() {
    let down = "[memory.embedder]\nkind = \"endpoint\"\n[memory.embedder.endpoint]\n\
                url = \"http://127.0.0.1:9/v1/embeddings\"\nmodel = \"m\"\ndimensions = 8\n\
                timeout = \"300ms\"\nattempts = 1\n";
    let bed = Bed::with(down, |setup| setup).await;
    let receipt =
        bed.remember("agent", ticket("E-1", "The lathe L4 chatters at high speed.")).await;
    assert_eq!(receipt.stage(), Stage::Stored, "{receipt:?}");
    assert!(!receipt.remarks.is_empty(), "the receipt says what is missing: {receipt:?}");
    let found = bed.try_recall("agent", "lathe chatters").await.unwrap();
    assert_eq!(found.hits.len(), 1);
    let failed: Vec<Sense> = found.failed.iter().map(|layer| layer.sense()).collect();
    assert_eq!(failed, [Sense::Vector], "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_leaves_tools_running_and_the_memory_says_why() {
    let mut bed = Bed::new().await;
    bed.remember("agent", ticket("G-1", "The gate G1 does not close.")).await;
    bed.daemon.signal("TERM");
    bed.daemon.wait();
    let file = bed.daemon.folder().join("ledger.db.memory");
    let mut bytes = std::fs::read(&file).unwrap();
    for (at, byte) in bytes.iter_mut().enumerate().skip(100) {
        *byte = u8::try_from(at % 251).unwrap();
    }
    std::fs::write(&file, &bytes).unwrap();
    for rest in ["-wal", "-shm"] {
        // They are gone after a clean end.
        drop(std::fs::remove_file(bed.daemon.folder().join(format!("ledger.db.memory{rest}"))));
    }
    let bed = bed.restart_unopened().await;
    bed.daemon.log_line(0, "the memory cannot be opened");
    let refused = bed.try_recall("agent", "gate").await.unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused)),
        (Code::Unavailable, "MEMORY_UNAVAILABLE".into())
    );
    let path = file.display().to_string();
    for part in ["damaged", path.as_str(), "nothing in it was changed", ".recover", "a backup"] {
        assert!(refused.message().contains(part), "{part}: {refused:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing was overwritten");
    assert_eq!(health(&bed).await, ServingStatus::NotServing);
    let (status, text) = http(&format!("http://{}/readyz", bed.daemon.address("metrics"))).await;
    assert!(status == 200 && text.contains("memory: "), "{status} {text}");
    let mut call = tonic::Request::new(crate::daemon::request("text.stats", r#"{"text":"one"}"#));
    let token = format!("Bearer {}", bed.token("agent"));
    call.metadata_mut().insert("authorization", token.parse().unwrap());
    let reply = bed.daemon.client().await.call(call).await.unwrap().into_inner().reply.unwrap();
    assert_eq!(code(&crate::daemon::parsed(&reply)), "SUCCESS");
    // Moved away, and the daemon told to look again: a new file takes its place.
    std::fs::rename(&file, file.with_extension("kept")).unwrap();
    bed.daemon.signal("HUP");
    bed.open().await;
    assert!(bed.try_recall("agent", "gate").await.unwrap().hits.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_none_of_ours_is_left_as_it_is() {
    let own = tempfile::TempDir::new().unwrap();
    let path = own.path().join("letter.txt");
    let letter = "Dear all, this is a letter and no database. ".repeat(500);
    std::fs::write(&path, &letter).unwrap();
    let bed = Bed::unopened(&at(&path), |setup| setup).await;
    bed.daemon.log_line(0, "the memory cannot be opened");
    let refused = bed.try_recall("agent", "letter").await.unwrap_err();
    assert_eq!(reason(&refused), "MEMORY_UNAVAILABLE", "{refused:?}");
    for part in ["letter.txt", "is no database: name another file, or move this one away"] {
        assert!(refused.message().contains(part), "{part}: {refused:?}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
}

/// A disk of its own; only root can have one.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::TempDir::new().unwrap();
        let made = mount(&format!("size={size}"), folder.path());
        made.then_some(Self(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ended = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn mount(options: &str, at: &std::path::Path) -> bool {
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at);
    mount.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_loses_none() {
    let Some(disk) = Disk::mount("3m") else {
        eprintln!("only root can have a disk of its own: not tried");
        return;
    };
    let path = disk.0.path().join("small.memory");
    let bed = Bed::with(&at(&path), |setup| setup).await;
    let (mut kept, mut refused) = (Vec::new(), None);
    for number in 0..3000 {
        let text = format!("Report {number} of the press. {}", "It was quiet. ".repeat(300));
        let asked = RememberRequest {
            draft: Some(ticket(&format!("D-{number}"), &text)),
            ..RememberRequest::default()
        };
        match bed.client("agent").await.remember(asked).await {
            Ok(receipt) => kept.push(receipt.into_inner().id),
            Err(status) => {
                refused = Some(status);
                break;
            }
        }
    }
    let refused = refused.unwrap();
    assert_eq!(
        (refused.code(), reason(&refused)),
        (Code::ResourceExhausted, "MEMORY_FULL".into()),
        "{refused:?}"
    );
    for part in ["small.memory", "free space, forget units, or raise it"] {
        assert!(refused.message().contains(part), "{part}: {refused:?}");
    }
    assert!(refused.get_details_retry_info().is_some());
    // It goes on answering from what it has.
    let found = bed.try_recall("agent", "Report 0 of the press").await.unwrap();
    assert!(!found.hits.is_empty() && found.failed.is_empty(), "{found:?}");

    // With room again, all that was acknowledged comes to its end, and more is taken.
    assert!(mount("remount,size=64m", disk.0.path()));
    let mut client = bed.client("agent").await;
    for id in &kept {
        let asked = GetReceiptRequest { receipt_id: id.clone(), wait_ms: 60_000 };
        let receipt = client.get_receipt(asked).await.unwrap().into_inner();
        assert_eq!(receipt.stage(), Stage::Stored, "{receipt:?}");
    }
    let more = bed.remember("agent", ticket("D-more", "There is room again.")).await;
    assert_eq!(more.stage(), Stage::Stored);
    let stats = client.stats(StatsRequest {}).await.unwrap().into_inner();
    assert_eq!((stats.units, stats.waiting), (u64::try_from(kept.len()).unwrap() + 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_cannot_have_one_file() {
    let shared = tempfile::TempDir::new().unwrap();
    let path = shared.path().join("shared.memory");
    let config = at(&path);
    let bed = Bed::unopened(&config, |setup| setup).await;
    bed.open().await;
    bed.remember("agent", ticket("H-1", "The hoist H1 slips.")).await;
    let second = Bed::unopened(&config, |setup| setup).await;
    second.daemon.log_line(0, "the memory cannot be opened");
    let refused = second.try_recall("agent", "hoist").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.message().contains("in use by another daemon"), "{refused:?}");
    assert_eq!(bed.try_recall("agent", "hoist slips").await.unwrap().hits.len(), 1);
    // Once the first one is gone, the second has it.
    drop(bed);
    second.open().await;
    assert_eq!(second.try_recall("agent", "hoist slips").await.unwrap().hits.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_without_a_memory_says_how_to_get_one() {
    let bed = Bed::unopened("[memory]\nenabled = false\n", |setup| setup).await;
    let refused = bed.try_recall("agent", "anything").await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::Unimplemented, "MEMORY_OFF".to_owned()));
    assert!(refused.message().contains("memory.enabled"), "{refused:?}");
    assert_eq!(health(&bed).await, ServingStatus::NotServing);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rates_of_calls_hold_for_the_memory_too() {
    let limits = format!("{PLAIN}[admission]\ncalls_per_second_per_caller = 5\n");
    let bed = Bed::with(&limits, |setup| setup).await;
    let mut client = bed.client("clerk").await;
    let mut refused = None;
    for _ in 0..50 {
        if let Err(status) = client.recall(asked("rates")).await {
            refused = Some(status);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!(
        (refused.code(), reason(&refused)),
        (Code::ResourceExhausted, "RATE_LIMITED".into())
    );
    assert!(refused.get_details_retry_info().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_takes_what_it_gave() {
    let bed = Bed::new().await;
    let file = bed.daemon.folder().join("units.jsonl");
    let line = |id: &str, text: &str| {
        json!({
            "collection": "tickets", "source": "desk/two", "source_id": id, "kind": "case",
            "text": text, "metadata": { "line": "PX" },
        })
        .to_string()
    };
    let lines = [
        line("1", "The fan F1 hums loudly."),
        String::new(),
        "{\"source\":".into(),
        line("2", "The fan F2 is unbalanced."),
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let path = file.display().to_string();
    let stopped = bed.cli("agent", &["memory", "import", &path]);
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
    let told = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(told.contains("line 3: is no unit"), "{told}");
    let whole = bed.cli("agent", &["memory", "import", &path, "--continue", "--json"]);
    let sums = crate::daemon::lines(&whole).pop().unwrap();
    // Whether the first line counts as unchanged depends on how far it had come the first time.
    let known = sums["taken"].as_u64().unwrap() + sums["unchanged"].as_u64().unwrap();
    assert_eq!((known, &sums["refused"]), (2, &json!(1)), "{whole:?}");

    let recalled = bed.cli("agent", &["memory", "recall", "unbalanced fan", "--json"]);
    let found = crate::daemon::lines(&recalled);
    assert_eq!(found[0]["hits"][0]["unit"]["draft"]["source_id"], "2", "{recalled:?}");
    let out = bed.daemon.folder().join("out.jsonl").display().to_string();
    assert!(bed.cli("agent", &["memory", "export", "--out", &out]).status.success());
    let again = bed.cli("agent", &["memory", "import", &out, "--json"]);
    let sums = crate::daemon::lines(&again).pop().unwrap();
    let known = sums["taken"].as_u64().unwrap() + sums["unchanged"].as_u64().unwrap();
    assert_eq!((known, &sums["refused"]), (2, &json!(0)), "{again:?}");
    let stats = crate::daemon::lines(&bed.cli("agent", &["memory", "stats", "--json"]));
    assert_eq!(stats[0]["units"], 2, "{stats:?}");
}

//! The command line: a question asked, its run listed, followed and ended.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use switchboard::proto::reason::{ListRunsRequest, State};

use super::bed::Bed;
use super::model::Say;
use super::three_steps;
use crate::daemon::{eventually, lines};

fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_asked_and_its_run_listed_and_shown() {
    let bed = Bed::by(three_steps).await;
    let asked = bed.cli("agent", &["run", "How many words?", "--no-cache"]);
    assert_eq!(asked.status.code(), Some(0), "{}", text(&asked));
    for part in ["started", "thought", "action", "text.stats", "observation", "3 words"] {
        assert!(text(&asked).contains(part), "no `{part}` in {}", text(&asked));
    }
    let quiet = bed.cli("agent", &["run", "How many words?", "--no-cache", "--quiet"]);
    assert!(text(&quiet).starts_with("The text has 3 words"), "{}", text(&quiet));
    let json = lines(&bed.cli("agent", &["run", "How many?", "--no-cache", "--json"]));
    let run = json[0]["run"].as_str().unwrap().to_owned();
    assert!(json[0]["event"]["started"].is_object(), "{:#}", json[0]);
    assert!(json.last().unwrap()["event"]["answer"].is_object(), "{json:#?}");

    let listed = lines(&bed.cli("agent", &["runs", "list", "--json", "--limit", "2"]));
    assert_eq!((listed.len(), listed[0]["run"].as_str()), (2, Some(run.as_str())));
    assert_eq!((&listed[0]["state"], &listed[0]["steps"]), (&"answered".into(), &3.into()));
    let table = text(&bed.cli("agent", &["runs", "list", "--state", "answered"]));
    assert!(table.contains(&run) && table.starts_with("RUN"), "{table}");
    let again = lines(&bed.cli("agent", &["runs", "resume", &run, "--json", "--after", "2"]));
    assert_eq!(again, json[2..]);
    let foreign = bed.cli("clerk", &["runs", "resume", &run]);
    assert_eq!(foreign.status.code(), Some(1));
    assert!(text(&foreign).contains("there is no run"), "{}", text(&foreign));

    let shown = bed.cli("agent", &["trace", "show", &run, "--json"]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown));
    let file = bed.daemon.folder().join("trace.json");
    std::fs::write(&file, &shown.stdout).unwrap();
    let verified = bed.cli("agent", &["trace", "verify", file.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified));
    let forged = text(&shown).replace("3 words", "4 words");
    assert_ne!(forged, text(&shown));
    std::fs::write(&file, forged).unwrap();
    let verified = bed.cli("agent", &["trace", "verify", file.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(1), "{}", text(&verified));
}

/// What a command says that is interrupted once it has told the first event.
fn interrupted(mut command: std::process::Command) -> std::process::Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    told.read_line(&mut first).unwrap();
    assert!(first.contains("started"), "{first}");
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success()
    );
    child.wait_with_output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_command_says_how_to_come_back_and_another_ends_the_run() {
    let bed = Bed::by(|_| Say::Silence).await;
    let ended = interrupted(bed.command("agent", &["run", "Are you there?"]));
    assert_eq!(ended.status.code(), Some(1));
    let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
    assert_eq!(listed[0].state(), State::Running);
    let run = &listed[0].run_id;
    assert!(text(&ended).contains(&format!("switchboard runs resume {run}")), "{}", text(&ended));
    let cancelled = bed.cli("agent", &["runs", "cancel", run]);
    assert_eq!((cancelled.status.code(), text(&cancelled).trim()), (Some(0), "cancelled"));
    let again = bed.cli("agent", &["runs", "cancel", run]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_command_that_takes_its_run_along_does_not_say_that_it_goes_on() {
    let bed = Bed::by(|_| Say::Silence).await;
    let ended = interrupted(bed.command("agent", &["run", "Are you there?", "--cancel-on-drop"]));
    assert_eq!(ended.status.code(), Some(1));
    assert!(text(&ended).contains("ends with this command"), "{}", text(&ended));
    assert!(!text(&ended).contains("goes on"), "{}", text(&ended));
    eventually("the run ends", || async {
        let listed = bed.list("agent", ListRunsRequest::default()).await.unwrap().runs;
        listed[0].state() == State::Cancelled
    })
    .await;
}

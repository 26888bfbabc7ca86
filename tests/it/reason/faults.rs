//! Models and endpoints that fail, each in its way: what the run makes of it is bounded, kept and told.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::proto::reason::run_event::Event;
use switchboard::proto::reason::{Attempt, Limits, RunEvent, RunRequest};

use super::bed::{Bed, all, answer, ask, count, endpoint, kind, kinds, reasoner, whole, within};
use super::forms::Form;
use super::label;
use super::model::{Model, Say};

/// Every attempt to have the question answered, in order.
fn attempts(events: &[RunEvent]) -> Vec<Attempt> {
    let asked = events.iter().filter_map(|event| match &event.event {
        Some(Event::Thought(one)) => one.asked.clone(),
        Some(Event::Routed(one)) => one.asked.clone(),
        _ => None,
    });
    let of_main = |one: &Attempt| one.endpoint != "small";
    asked.flat_map(|asked| asked.attempts).filter(of_main).collect()
}

fn outcomes(events: &[RunEvent]) -> Vec<String> {
    attempts(events).into_iter().map(|one| one.outcome).collect()
}

/// What a run that has no answer says of it.
fn failure(events: &[RunEvent]) -> (String, String) {
    match &events.last().unwrap().event {
        Some(Event::Failed(failed)) => (failed.code.clone(), failed.message.clone()),
        other => panic!("{other:?}: {:?}", kinds(events)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_is_an_answer() {
    let model = Model::saying([Say::text("Late.").late(Duration::from_secs(2))]).await;
    let bed = Bed::chatting(model, "").await;
    let events = bed.run(ask("Are you slow?")).await;
    whole(&events);
    assert_eq!(
        (answer(&events).text.as_str(), outcomes(&events)),
        ("Late.", vec!["ok".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_cut_is_asked_for_again() {
    let says = [Say::Cut("The answer is".to_owned()), Say::text("The answer is 7.")];
    let bed = Bed::chatting(Model::saying(says).await, "").await;
    let events = bed.run(ask("What is it?")).await;
    whole(&events);
    assert_eq!(answer(&events).text, "The answer is 7.");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_asked_again() {
    let right = || Say::text("Here I am.");
    let cases = [
        (Say::status(500), "status", 500),
        (Say::status(503), "status", 503),
        (Say::Half(Box::new(right())), "connection", 0),
        (Say::Close, "connection", 0),
    ];
    let bed = Bed::chatting(Model::saying([]).await, "").await;
    for (fault, outcome, status) in cases {
        bed.model.now([fault.clone(), right()]);
        let events = bed.run(ask("Are you there?")).await;
        whole(&events);
        assert_eq!(answer(&events).text, "Here I am.", "{fault:?}");
        let tried = attempts(&events);
        assert_eq!(tried.len(), 2, "{fault:?}: {tried:?}");
        assert_eq!(tried[1].outcome, "ok");
        assert!(tried[1].waited_ms > 0, "it waited before it asked again: {tried:?}");
        if outcome == "status" {
            assert_eq!((tried[0].outcome.as_str(), tried[0].status), (outcome, status));
        } else {
            assert_ne!(tried[0].outcome, "ok", "{tried:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_asked_for_is_kept() {
    let busy = Say::Status(429, vec!["retry-after: 1".into()], "{\"error\":\"busy\"}".into());
    let bed = Bed::chatting(Model::saying([busy, Say::text("Now.")]).await, "").await;
    let begun = Instant::now();
    let events = bed.run(ask("Are you busy?")).await;
    whole(&events);
    answer(&events);
    let tried = attempts(&events);
    assert_eq!((tried[0].status, tried[1].outcome.as_str()), (429, "ok"), "{tried:?}");
    assert!(tried[1].waited_ms >= 1000 && begun.elapsed() >= Duration::from_secs(1), "{tried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_one_provider_refuses_is_taken_by_the_next_and_the_part_is_recorded() {
    let says = json!({ "error": { "message":
        "Invalid schema for function 'text_dot_stats': 'maxLength' is not permitted.",
        "type": "invalid_request_error", "param": "tools[0].function.parameters",
        "code": "invalid_function_parameters" } });
    let strict = Model::start(move |_| Say::Status(400, Vec::new(), says.to_string())).await;
    let other = Model::start(|seen| match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "a b" })),
        _ => Say::Text(format!("2 words [{}].", label(seen))),
    })
    .await;
    let config = endpoint("first", &strict, Form::Openai, "form = \"native\"")
        + &endpoint("second", &other, Form::Anthropic, "")
        + &reasoner(&["first", "second"]);
    let bed = Bed::with(other, &config, |setup| setup).await;
    let events = bed.run(ask("How many words has `a b`?")).await;
    whole(&events);
    answer(&events);
    let tried = attempts(&events);
    let refused = &tried[0];
    assert_eq!((refused.endpoint.as_str(), refused.outcome.as_str()), ("first", "refused"));
    assert_eq!(refused.status, 400);
    assert!(refused.part.contains("tools") && refused.message.contains("maxLength"), "{refused:?}");
    assert_eq!(tried[1].endpoint, "second");
    assert!(strict.asked() <= 2, "no retry of what will be refused again: {}", strict.asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_is_bounded() {
    let bed = Bed::chatting(Model::saying([]).await, "retries = 1").await;
    for raw in ["{not json", "", "[]", "{\"choices\":[]}", "\u{0}\u{1}"] {
        bed.model.by(move |_| Say::Raw(raw.to_owned()));
        let before = bed.model.asked();
        let events = bed.run(within("Can it be read?", Duration::from_secs(30))).await;
        whole(&events);
        let (code, message) = failure(&events);
        assert_eq!(code, "MODEL_FAILED", "{raw:?}: {message}");
        let asked = bed.model.asked() - before;
        assert!((1..=12).contains(&asked), "{raw:?}: asked {asked} times");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_no_turn_is_told_to_the_model_and_the_run_is_bounded() {
    // In the form of JSON alone each turn is one object; this model never keeps to it.
    let model = Model::start(|_| Say::text("{\"tool_call\": {\"name\": ")).await;
    let config = endpoint("main", &model, Form::Openai, "form = \"json\"") + &reasoner(&["main"]);
    let bed = Bed::with(model, &config, |setup| setup).await;
    let events = bed.run(ask("Can you write JSON?")).await;
    whole(&events);
    assert_ne!(kind(events.last().unwrap()), "answer", "{events:#?}");
    assert!(count(&events, "rejected") >= 2, "{:?}", kinds(&events));
    let asked = bed.model.asked();
    // Five steps, each asked again twice at most, and each question tried three times at most.
    assert!(count(&events, "thought") <= 15, "{:?}", kinds(&events));
    assert!(asked <= 45, "asked {asked} times");
    // It was told what was wrong.
    let shown: Vec<String> = bed.model.seen().iter().map(|seen| seen.shown()).collect();
    assert!(shown.iter().any(|one| one.len() > shown[0].len()), "{shown:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_for_ever_runs_once() {
    let bed = Bed::by(|_| Say::call("text.stats", json!({ "text": "again" }))).await;
    let events = bed.run(ask("Do you repeat yourself?")).await;
    whole(&events);
    assert_eq!(kind(events.last().unwrap()), "partial", "{:?}", kinds(&events));
    assert_eq!(
        bed.records("text.stats").iter().filter(|one| one["status"] == "success").count(),
        1
    );
    let repeated = events.iter().filter(|event| match &event.event {
        Some(Event::Observation(one)) => one.code == "DUPLICATE_CALL",
        _ => false,
    });
    assert!(repeated.count() >= 1, "{events:#?}");
    assert!(bed.model.asked() <= 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_are_not_read() {
    let bed = Bed::chatting(Model::saying([]).await, "retries = 0").await;
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", bed.daemon.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    bed.model.by(|_| Say::text(&"many words ".repeat(1 << 20)));
    let before = resident();
    let events = bed.run(ask("Do you say much?")).await;
    whole(&events);
    assert_eq!(failure(&events).0, "MODEL_FAILED");
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 10, "grew by {grown} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_followed_by_nobody() {
    let elsewhere = Model::start(|_| Say::text("I am elsewhere.")).await;
    let location = format!("location: {}/chat/completions", elsewhere.url(Form::Openai));
    let model =
        Model::start(move |_| Say::Status(307, vec![location.clone()], String::new())).await;
    let bed = Bed::chatting(model, "").await;
    let events = bed.run(ask("Where are you?")).await;
    whole(&events);
    let (code, message) = failure(&events);
    assert_eq!(code, "MODEL_FAILED", "{message}");
    assert_eq!(elsewhere.asked(), 0);
    assert!(bed.model.asked() <= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_is_left_alone_in_time() {
    let more = "timeout = \"1s\"\nfirst_token_timeout = \"1s\"\nretries = 0";
    let bed = Bed::chatting(Model::start(|_| Say::Silence).await, more).await;
    let begun = Instant::now();
    let events = bed.run(ask("Do you hang?")).await;
    whole(&events);
    assert_eq!(failure(&events).0, "MODEL_FAILED");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());

    // The run's own time is a limit too, whatever its endpoints may take.
    let bed = Bed::chatting(Model::start(|_| Say::Silence).await, "").await;
    let begun = Instant::now();
    let events = bed.run(within("Do you hang for long?", Duration::from_secs(1))).await;
    whole(&events);
    match &events.last().unwrap().event {
        Some(Event::Failed(failed)) => assert_eq!(failed.code, "TIME_LIMIT", "{failed:?}"),
        Some(Event::Partial(partial)) => assert_eq!(partial.limit, "time", "{partial:?}"),
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_provider_answers_whole_and_as_a_stream() {
    for form in Form::ALL {
        for stream in [true, false] {
            let model = Model::start(|seen| match seen.results() {
                0 => Say::call("text.stats", json!({ "text": "a b c" })),
                _ => Say::Text(format!("3 words [{}].", label(seen))),
            })
            .await;
            let config = endpoint("main", &model, form, &format!("stream = {stream}"))
                + &reasoner(&["main"]);
            let bed = Bed::with(model, &config, |setup| setup).await;
            let events = bed.run(ask("How many words has `a b c`?")).await;
            whole(&events);
            assert_eq!(count(&events, "action"), 1, "{form:?} {stream}: {events:#?}");
            assert!(answer(&events).text.contains("3 words"), "{form:?} {stream}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_made_up_label_is_not_believed() {
    let bed = Bed::by(|seen| match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "a b" })),
        _ => Say::text("The text has 9 words [E99]."),
    })
    .await;
    let events = bed.run(ask("How many words has `a b`?")).await;
    whole(&events);
    assert_ne!(kind(events.last().unwrap()), "answer", "{events:#?}");
    assert!(count(&events, "rejected") >= 1, "{:?}", kinds(&events));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_removed_meanwhile_is_unknown_to_the_run() {
    let bed = Bed::by(|seen| match seen.results() {
        0 => Say::call("text.stats", json!({ "text": "a" })),
        1 => Say::call("probe.cat", json!({ "text": "b" })).late(Duration::from_secs(2)),
        _ => Say::Text(format!("One tool is gone [{}].", label(seen))),
    })
    .await;
    let mut stream = bed.start("agent", ask("Use both.")).await.unwrap();
    let first = super::bed::until(&mut stream, "observation").await;
    let logged = bed.daemon.logged();
    std::fs::remove_file(bed.daemon.setup.policies().join("tools/probe-cat.toml")).unwrap();
    bed.daemon.log_line(logged, "catalog and policies are in force");
    let events: Vec<_> = first.into_iter().chain(all(stream).await.unwrap()).collect();
    whole(&events);
    let mut told = events.iter().filter_map(|event| match &event.event {
        Some(Event::Observation(one)) => Some(one.code.clone()),
        _ => None,
    });
    assert_eq!(told.next_back().as_deref(), Some("UNKNOWN_TOOL"), "{events:#?}");
    answer(&events);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_may_spend_is_spent_and_no_more() {
    let bed = Bed::by(|seen| Say::call("probe.echo", json!({ "count": seen.results() }))).await;
    let limits = Limits { tokens: Some(4000), steps: Some(5), ..Limits::default() };
    let asked = RunRequest { limits: Some(limits), ..ask("Count without end.") };
    let events = bed.run(asked).await;
    whole(&events);
    let usage = match &events.last().unwrap().event {
        Some(Event::Partial(partial)) => partial.usage.clone(),
        Some(Event::Failed(failed)) => failed.usage.clone(),
        other => panic!("{other:?}"),
    };
    let usage = usage.unwrap();
    assert!(usage.input_tokens + usage.output_tokens <= 4000, "{usage:?}");
}

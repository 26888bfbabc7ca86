//! What is given again, to whom, and how long; and what never is.

mod near;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{Cache, Config, Setting, Shelf, Unfit, Used, Worth, now};
use crate::admission::Caller;
use crate::catalog::Risk;
use crate::reason::event::Routed;

fn caller(name: &str) -> Caller {
    Caller { name: name.into(), tenant: "acme".into(), roles: vec!["local".into()] }
}

fn setting(caller: &Caller) -> Setting<'_> {
    Setting {
        caller,
        agent: "",
        version: "v1",
        memory: "7",
        collections: &[],
        as_of: "2026-03-04",
        previous: "",
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn an_equal_question_is_given_its_answer_with_its_age() {
    let (cache, ann) = (Cache::new(&Config::default()), caller("ann"));
    let slot = cache.slot(&setting(&ann), "What is  the relief pressure?").unwrap();
    assert!(cache.routings.look(&slot, None).await.is_none());
    let routed = Routed { why: "a test".into(), ..Routed::default() };
    cache.routings.keep(&slot, routed.clone(), cache.ttl());
    let again = cache.slot(&setting(&ann), "What is the relief pressure").unwrap();
    let hit = cache.routings.look(&again, None).await.unwrap();
    assert_eq!(hit.value, routed);
    assert_eq!((hit.served.question, hit.served.similarity), (None, None));
    assert!(hit.served.age_ms < 60_000);
    assert!(cache.recalls.look(&again, None).await.is_none(), "each kind has its own");
}

#[test]
fn whatever_an_answer_hangs_on_makes_it_another() {
    let (ann, bob) = (caller("ann"), caller("bob"));
    let (mut reviewer, mut elsewhere) = (caller("ann"), caller("ann"));
    reviewer.roles.push("reviewer".into());
    elsewhere.tenant = "globex".into();
    let notes = ["notes".to_owned()];
    let base = setting(&ann);
    let (question, now) = ("What is the relief pressure?", at("2026-03-04T10:05:00Z"));
    let slot = base.slot_at(question, now);
    assert_eq!(
        slot,
        base.slot_at(question, now + SignedDuration::from_hours(1)),
        "a date is given"
    );
    for other in [
        setting(&bob),
        setting(&reviewer),
        setting(&elsewhere),
        Setting { agent: "clerk", ..base },
        Setting { version: "v2", ..base },
        Setting { memory: "8", ..base },
        Setting { collections: &notes, ..base },
        Setting { as_of: "2026-03-05", ..base },
        Setting { as_of: "", ..base },
        Setting { previous: "run", ..base },
    ] {
        let told = other.slot_at(question, now);
        assert_ne!(told.equal, slot.equal, "{other:?}");
        assert_ne!(told.alike, slot.alike, "{other:?}");
    }
}

#[test]
fn without_a_date_what_is_valid_is_looked_up_again_each_quarter_of_an_hour() {
    let ann = caller("ann");
    let base = Setting { as_of: "", ..setting(&ann) };
    let slot = |time: &str| base.slot_at("Which manual holds?", at(time));
    assert_eq!(slot("2026-03-04T23:50:00Z"), slot("2026-03-04T23:59:59Z"));
    assert_ne!(slot("2026-03-04T23:59:59Z"), slot("2026-03-05T00:00:00Z"));
}

#[test]
fn collections_are_a_set() {
    let ann = caller("ann");
    let (one, other) = (["a".to_owned(), "b".to_owned()], ["b".to_owned(), "a".to_owned()]);
    let slot =
        |collections| Setting { collections, ..setting(&ann) }.slot_at("x", Timestamp::UNIX_EPOCH);
    assert_eq!(slot(&one), slot(&other));
}

#[test]
fn letter_case_can_tell_a_name() {
    let ann = caller("ann");
    let slot = |question| setting(&ann).slot(question).equal;
    assert_ne!(slot("Who buys Polish?"), slot("Who buys polish?"));
}

#[tokio::test]
async fn what_is_too_old_is_not_given() {
    let shelf = Shelf::new("answer", &Config::default());
    let ann = caller("ann");
    let slot = setting(&ann).slot("What is the relief pressure?");
    shelf.keep(&slot, 1, Duration::from_millis(1));
    let begun = std::time::Instant::now();
    while shelf.look(&slot, None).await.is_some() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never grew old");
        tokio::task::yield_now().await;
    }
    shelf.keep(&slot, 2, Duration::from_secs(60));
    assert_eq!(shelf.look(&slot, None).await.unwrap().value, 2);
}

#[test]
fn questions_about_now_have_no_slot() {
    let (cache, ann) = (Cache::new(&Config::default()), caller("ann"));
    for question in [
        "What is the pressure now?",
        "What is the current pressure?",
        "Which orders came in today?",
        "Is the pump still running?",
        "Has the order been shipped yet?",
        "What is the latest forecast?",
        "How many tickets are open at the moment?",
        "Who placed an order in the last hour?",
        "Show the live temperature",
        "How many complaints came in the past 24 hours?",
        "Who ordered in the last 5 minutes?",
        "What was booked in the previous quarter?",
        "What is to be shipped in the next couple of days?",
        "Who is on call this weekend?",
        "What is due next Monday?",
        "How do returns go these days?",
        "Is the PX-200 in stock?",
        "What is the status of order ORD-10036?",
        "Which invoices are overdue?",
        "过去24小时有多少投诉？",
        "这几天的订单有哪些？",
        "未来一周要发哪些货？",
        "PX-200的库存有多少？",
        "现在的压力是多少？",
        "目前有多少未结工单？",
        "今天来了哪些订单？",
        "泵还没修好吗？",
        "最新的预测是什么？",
        "上个月的销售额是多少？",
    ] {
        assert!(cache.slot(&setting(&ann), question).is_none(), "{question}");
    }
    for question in [
        "What is the relief pressure of the PX-200?",
        "Who knows the code of the snowblower?",
        "What did Acme buy in 2025?",
        "这个词出现在哪一章？",
        "Which bolt is tightened last, and by how much?",
        "Which step follows this one?",
        "How long does the warranty of a PX-200 last?",
        "2025年第三季度的销售额是多少？",
    ] {
        assert!(cache.slot(&setting(&ann), question).is_some(), "{question}");
    }
}

#[test]
fn more_words_can_be_about_now() {
    let more = ["on shift".to_owned(), "值班".to_owned()];
    assert!(now::asked("Who is On Shift?", &more));
    assert!(now::asked("谁在值班？", &more));
    assert!(!now::asked("Who is one on shifting sands?", &more));
    assert!(!now::asked("Who is on shift?", &[]));
}

#[test]
fn nothing_is_kept_where_the_time_to_live_is_zero_or_something_is_masked() {
    let ann = caller("ann");
    let off = Cache::new(&Config { ttl: Duration::ZERO, ..Config::default() });
    assert!(off.slot(&setting(&ann), "What is the relief pressure?").is_none());
    let on = Cache::new(&Config::default());
    let phone = "Whose number is 13812345678?";
    assert_ne!(crate::mask::text(phone), phone);
    assert!(on.slot(&setting(&ann), phone).is_none());
    assert!(on.slot(&setting(&ann), &crate::mask::text(phone)).is_none(), "two masks look alike");
}

fn used(risk: Risk, ttl: Option<u64>) -> Used {
    let ttl = ttl.map(Duration::from_secs);
    Used { tool: "text.stats".into(), risk, ttl, age: Duration::from_secs(10) }
}

#[test]
fn what_is_not_whole_and_clean_is_not_kept() {
    let (five, clean) = (Duration::from_secs(300), Worth::default());
    let tool = || "text.stats".to_owned();
    assert_eq!(clean.life(five), Ok(five));
    let cases = [
        (Worth { partial: true, ..clean.clone() }, Unfit::Partial),
        (Worth { failed: true, ..clean.clone() }, Unfit::Failed),
        (Worth { tainted: true, ..clean.clone() }, Unfit::Tainted),
        (Worth { attended: true, ..clean.clone() }, Unfit::Attended),
        (Worth { used: vec![used(Risk::Write, Some(60))], ..clean.clone() }, Unfit::Writes(tool())),
        (Worth { used: vec![used(Risk::Outbound, None)], ..clean.clone() }, Unfit::Writes(tool())),
        (Worth { used: vec![used(Risk::Read, None)], ..clean.clone() }, Unfit::Uncacheable(tool())),
        (Worth { used: vec![used(Risk::Read, Some(10))], ..clean.clone() }, Unfit::Over),
        (Worth { until: Some(Timestamp::UNIX_EPOCH), ..clean }, Unfit::Over),
    ];
    for (worth, unfit) in cases {
        assert_eq!(worth.life(five), Err(unfit), "{worth:?}");
    }
}

#[test]
fn an_answer_lives_no_longer_than_what_it_rests_on() {
    let (five, now) = (Duration::from_secs(300), at("2026-03-04T10:00:00Z"));
    let tools = Worth {
        used: vec![used(Risk::Read, Some(600)), used(Risk::Read, Some(60))],
        ..Worth::default()
    };
    assert_eq!(tools.life_at(five, now), Ok(Duration::from_secs(50)));
    let evidence = Worth { until: Some(at("2026-03-04T10:00:20Z")), ..tools };
    assert_eq!(evidence.life_at(five, now), Ok(Duration::from_secs(20)));
    assert_eq!(evidence.life_at(five, at("2026-03-04T10:00:20Z")), Err(Unfit::Over));
}

#[test]
fn a_configuration_that_cannot_be_meant_is_told() {
    assert_eq!(Config::default().wrong(), None);
    let long = Config { ttl: Duration::from_secs(601), ..Config::default() };
    let unlike = Config { similarity: f32::NAN, ..Config::default() };
    let empty = Config { now: vec![" ".into()], ..Config::default() };
    for (config, key) in [
        (long, "reason.cache.ttl"),
        (unlike, "reason.cache.similarity"),
        (empty, "reason.cache.now"),
    ] {
        assert_eq!(config.wrong().map(|(key, _)| key), Some(key));
    }
}

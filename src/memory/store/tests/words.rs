//! Full text, triggers and entities.

use super::super::{Ask, Chunk, Hit, Store};
use super::kit::{COLLECTION, TENANT, ask_words, chunk, put, put_with, scope, seqs, version};
use crate::memory::{Entity, Owned, Scope, Version};

pub(super) async fn chinese_words_of_any_length_are_found(store: &dyn Store) {
    let pump = put(store, version("3号水泵漏水,已更换密封圈。")).await;
    let batch = put(store, version("批次B-17的供应商是华东精密")).await;
    let lock = put(store, version("数据库锁超时")).await;
    for (question, expected) in [
        ("水泵", vec![pump]),
        ("密封圈", vec![pump]),
        ("华东精密", vec![batch]),
        ("供应商", vec![batch]),
        ("锁", vec![lock]),
        ("B-17", vec![batch]),
        ("批次B-17", vec![batch]),
        ("阀门", vec![]),
        ("泵水", vec![]),
    ] {
        assert_eq!(seqs(&ask_words(store, &scope(), question).await), expected, "{question}");
    }
}

pub(super) async fn long_chinese_questions_find_what_shares_words_with_them(store: &dyn Store) {
    let done = put(store, version("压力测试已经完成")).await;
    let back = put(store, version("数据库迁移回滚了,锁超时")).await;
    let food = put(store, version("晚上吃饺子")).await;
    for (question, first) in [
        ("压力测试完成情况如何", done),
        ("数据库迁移状态", back),
        ("昨天迁移为什么回滚", back),
        ("请问一下昨天晚上的数据库迁移后来到底怎么样了", back),
    ] {
        let hits = ask_words(store, &scope(), question).await;
        assert_eq!(hits[0].seq, first, "{question}");
        assert!(hits[0].score > 0.0, "{question}");
        let asks_for_food = question.contains("晚上");
        assert!(asks_for_food || !seqs(&hits).contains(&food), "{question}: {hits:?}");
    }
}

pub(super) async fn a_question_is_text_and_never_syntax(store: &dyn Store) {
    let records = [
        "the long-term co-pilot plan",
        "speed 80 km/h",
        "answer \"ok\" in C++ or F#",
        "pair key:val OR 1=1",
        "it isn't cached",
        "$next cursor",
        "a gain of 12 % in March",
    ];
    let mut put_seqs = Vec::new();
    for record in records {
        put_seqs.push(put(store, version(record)).await);
    }
    for (question, record) in [
        ("long-term", 0),
        ("co-pilot", 0),
        ("km/h", 1),
        ("\"ok", 2),
        ("C++", 2),
        ("F#", 2),
        ("key:val", 3),
        ("plan AND", 0),
        ("isn't", 4),
        ("$next", 5),
        ("%", 6),
        ("\"", usize::MAX),
        ("*", usize::MAX),
        ("NEAR(", usize::MAX),
        ("(rust", usize::MAX),
        ("zz%_zz", usize::MAX),
        ("'; DROP TABLE version;--", usize::MAX),
        ("text:zebra ^zebra zebra* -zebra {zebra} zebra'", usize::MAX),
        ("", usize::MAX),
        (" \t\n", usize::MAX),
        ("\0", usize::MAX),
    ] {
        let hits = ask_words(store, &scope(), question).await;
        match put_seqs.get(record) {
            Some(seq) => assert_eq!(hits[0].seq, *seq, "{question}"),
            None => assert_eq!(hits, [], "{question}"),
        }
    }
    let ask = Ask { trigger: Some("\" OR *".into()), limit: 9, ..Ask::default() };
    assert_eq!(store.search(&scope(), &ask).await.unwrap().trigger.unwrap().unwrap(), []);
    assert_eq!(store.list(&scope(), None, 99).await.unwrap().len(), records.len());
}

pub(super) async fn spelling_makes_no_difference(store: &dyn Store) {
    let cafe = put(store, version("the caf\u{e9} in Jena")).await;
    let street = put(store, version("Berliner STRASSE 7")).await;
    let wide = put(store, version("型号PX200 full width")).await;
    let dev = put(store, version("dev \u{1f469}\u{1f3fd}\u{200d}\u{1f4bb} team")).await;
    let persian = put(store, version("می\u{200c}روم")).await;
    let valves = put(store, version("The valves were leaking")).await;
    for (question, expected) in [
        ("cafe\u{301}", cafe),
        ("CAFE", cafe),
        ("straße", street),
        ("ｐｘ２００", wide),
        ("\u{1f469}", dev),
        ("\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}", dev),
        ("می\u{200c}روم", persian),
        ("valve leaks", valves),
    ] {
        assert_eq!(seqs(&ask_words(store, &scope(), question).await), [expected], "{question}");
    }
}

pub(super) async fn a_long_text_gains_nothing_by_its_length(store: &dyn Store) {
    let short = put(store, version("Reset the pump by holding the red key.")).await;
    let filler = "The weather report of the day says nothing of interest at all. ".repeat(60);
    let long = put(store, version(&format!("{filler} Reset the pump. {filler}"))).await;
    let hits = ask_words(store, &scope(), "how do I reset the pump").await;
    assert_eq!(seqs(&hits), [short, long]);
    assert!(hits[0].score > hits[1].score);
}

pub(super) async fn other_tenants_change_no_score(store: &dyn Store) {
    put(store, version("the pump of line seven")).await;
    put(store, version("the valve of line nine")).await;
    let before = ask_words(store, &scope(), "pump of line").await;
    for number in 0..30 {
        let text = format!("pump pump line {number}");
        put(store, Version { tenant: "other".into(), ..version(&text) }).await;
    }
    assert_eq!(ask_words(store, &scope(), "pump of line").await, before);
    let other = Scope { tenant: "nobody".into(), ..scope() };
    assert_eq!(ask_words(store, &other, "pump").await, []);
}

pub(super) async fn what_the_scope_may_not_look_into_changes_no_score(store: &dyn Store) {
    let own = || Owned { collection: COLLECTION.into(), owner: Some("ann".into()) };
    let mine = Scope { collections: vec![own()], ..scope() };
    put(store, version("the pump of line seven")).await;
    put(store, version("the valve of line nine has a long text beside it")).await;
    let before = ask_words(store, &mine, "pump of line").await;
    assert_eq!(before.len(), 2);
    let mut seen = Vec::new();
    for number in 0..30 {
        let text = format!("pump pump line {number}");
        put(store, Version { owner: "bob".into(), ..version(&text) }).await;
        let mut elsewhere = version(&text);
        elsewhere.draft.collection = "elsewhere".into();
        seen.push(elsewhere.unit.clone());
        put(store, elsewhere).await;
    }
    assert_eq!(ask_words(store, &mine, "pump of line").await, before);
    assert_ne!(ask_words(store, &scope(), "pump of line").await, before, "it counts for the rest");
    // What is gone counts no more.
    let all = Scope {
        collections: vec![own(), Owned { collection: "elsewhere".into(), owner: None }],
        ..scope()
    };
    for unit in &seen {
        store.erase(TENANT, unit).await.unwrap();
    }
    assert_eq!(ask_words(store, &all, "pump of line").await, before);
}

pub(super) async fn a_trigger_is_met_whole_or_by_its_words(store: &dyn Store) {
    let mut reset = version("hold the red key");
    reset.draft.triggers = vec!["How do I reset the pump?".into(), "怎么重启".into()];
    let reset = put(store, reset).await;
    let mut pump = version("about pumps");
    pump.draft.triggers = vec!["pump".into(), "the blue pump".into(), "???".into()];
    let pump = put(store, pump).await;
    let ask = |question: &str| {
        let ask = Ask { trigger: Some(question.into()), limit: 9, ..Ask::default() };
        async move { store.search(&scope(), &ask).await.unwrap().trigger.unwrap().unwrap() }
    };
    let hits = ask("how do i RESET the pump").await;
    assert_eq!(seqs(&hits), [reset, pump]);
    assert!(hits[0].score == 1.0 && hits[1].score < 1.0 && hits[1].score > 0.0, "{hits:?}");
    let hits = ask("please tell me how do I reset the pump in hall 3").await;
    assert_eq!(seqs(&hits), [reset, pump]);
    assert!(hits[0].score < 1.0, "it is not the whole question");
    assert_eq!(seqs(&ask("请问怎么重启它").await), [reset]);
    assert_eq!(seqs(&ask("reset the valve").await), [] as [i64; 0], "not all its words");
    assert_eq!(seqs(&ask("").await), [] as [i64; 0]);
}

pub(super) async fn entities_are_met_by_value_and_kind(store: &dyn Store) {
    let entity = |kind: &str, value: &str| Entity { kind: kind.into(), value: value.into() };
    let mut both = version("both");
    both.draft.entities = vec![entity("part", "PX-200"), entity("batch", "B-17")];
    let both = put(store, both).await;
    let mut project = version("project");
    project.draft.entities = vec![entity("project", "PX-200")];
    let project = put(store, project).await;
    let ask = |entities: Vec<Entity>| {
        let ask = Ask { entities, limit: 9, ..Ask::default() };
        async move { store.search(&scope(), &ask).await.unwrap().entity.unwrap().unwrap() }
    };
    let scores = |hits: Vec<Hit>| hits.iter().map(|hit| (hit.seq, hit.score)).collect::<Vec<_>>();
    assert_eq!(scores(ask(vec![entity("part", "PX-200")]).await), [(both, 1.0)]);
    let hits = scores(ask(vec![entity("", "px-200"), entity("batch", "B-17")]).await);
    assert_eq!(hits, [(both, 2.0), (project, 1.0)]);
    assert_eq!(scores(ask(vec![entity("customer", "PX-200")]).await), []);
    assert_eq!(scores(ask(vec![entity("", "PX-2")]).await), []);
}

pub(super) async fn the_words_of_chunks_come_in_the_order_asked_for(store: &dyn Store) {
    let version = version("a long text");
    let part = |ordinal, text: &str| Chunk { ordinal, text: text.into(), ..chunk(&version) };
    let chunks = vec![part(0, "the first part"), part(1, "the second part")];
    let seq = put_with(store, version.clone(), chunks, Vec::new()).await;
    let texts = store.texts(&[(seq, 1), (seq, 0)]).await.unwrap();
    assert_eq!(texts, ["the second part", "the first part"]);
    let hits = ask_words(store, &scope(), "second").await;
    assert_eq!((hits[0].seq, hits[0].ordinal, hits.len()), (seq, 1, 1));
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap().len(), 1);
}

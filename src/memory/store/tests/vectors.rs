//! Vectors of chunks and of images.

use super::super::{Ask, Chunk, Error, Store, Write};
use super::kit::{
    Dice, MODEL, TENANT, ask_vector, ask_words, at, change, chunk, filter, put, put_vector,
    put_with, scope, seqs, settlement, version, write,
};
use crate::memory::{Compare, End, Ended, Image, Scope, Version};

pub(super) async fn vectors_of_several_models_are_never_mixed(store: &dyn Store) {
    let first = put_vector(store, "first", MODEL, &[1.0, 0.0, 0.0]).await;
    let second = put_vector(store, "second", "other", &[1.0, 0.0, 0.0]).await;
    let flat = put_vector(store, "flat", "flat", &[1.0, 0.0]).await;
    for (model, vector, seq) in [
        (MODEL, &[1.0, 0.0, 0.0][..], first),
        ("other", &[0.9, 0.1, 0.0][..], second),
        ("flat", &[1.0, 0.0][..], flat),
    ] {
        assert_eq!(seqs(&ask_vector(store, &scope(), model, vector).await), [seq], "{model}");
    }
    assert_eq!(ask_vector(store, &scope(), "unknown", &[1.0]).await, []);
    store.embed("other", &[(first, 0, vec![0.0, 1.0, 0.0])]).await.unwrap();
    let hits = ask_vector(store, &scope(), "other", &[0.0, 1.0, 0.0]).await;
    assert_eq!(seqs(&hits), [first, second]);
    assert!((hits[0].score - 1.0).abs() < 1e-6 && hits[1].score.abs() < 1e-6, "{hits:?}");
    let hits = ask_vector(store, &scope(), MODEL, &[-2.0, 0.0, 0.0]).await;
    assert!((hits[0].score + 1.0).abs() < 1e-6, "the length of a vector does not count: {hits:?}");
}

pub(super) async fn a_vector_of_another_length_fails_its_layer_only(store: &dyn Store) {
    let seq = put_vector(store, "the pump", MODEL, &[1.0, 0.0, 0.0]).await;
    let vector = Some((MODEL.to_owned(), vec![1.0, 0.0]));
    let ask = Ask { vector, words: Some("pump".into()), limit: 9, ..Ask::default() };
    let found = store.search(&scope(), &ask).await.unwrap();
    assert!(matches!(found.vector, Some(Err(Error::Dimensions { expected: 3, given: 2, .. }))));
    assert_eq!(seqs(&found.words.unwrap().unwrap()), [seq]);
    assert!(found.trigger.is_none() && found.image.is_none() && found.nearest.is_none());
    let error = store.embed(MODEL, &[(seq, 0, vec![1.0])]).await.unwrap_err();
    assert!(matches!(error, Error::Dimensions { expected: 3, given: 1, .. }), "{error}");
}

pub(super) async fn a_filter_loses_none_of_the_nearest(store: &dyn Store) {
    let mut dice = Dice(42);
    let mut all = Vec::new();
    for number in 0..1500_u32 {
        let mut version = version(&format!("unit {number}"));
        let line = dice.roll(30);
        version.draft.metadata.insert("line".into(), line.into());
        let vector = dice.vector(48);
        let chunk = Chunk { vector: Some((MODEL.into(), vector.clone())), ..chunk(&version) };
        let seq = put_with(store, version, vec![chunk], Vec::new()).await;
        all.push((seq, line, vector));
    }
    let length = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let cosine = |a: &[f32], b: &[f32]| {
        let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        product / length(a) / length(b)
    };
    let (mut right, mut wanted) = (0, 0);
    for ask in 0..20 {
        let question = dice.vector(48);
        let line = (ask % 2 == 0).then(|| dice.roll(30));
        let mut exact: Vec<(f64, i64)> = all
            .iter()
            .filter(|(_, own, _)| line.is_none_or(|line| line == *own))
            .map(|(seq, _, vector)| (cosine(vector, &question), *seq))
            .collect();
        exact.sort_by(|left, right| right.0.total_cmp(&left.0));
        exact.truncate(20);
        let filters = line.map(|line| filter("line", Compare::Any, line.into()));
        let scope = Scope { filters: filters.into_iter().collect(), ..scope() };
        let hits = ask_vector(store, &scope, MODEL, &question).await;
        wanted += exact.len();
        right += exact.iter().filter(|(_, seq)| seqs(&hits).contains(seq)).count();
        assert!((hits[0].score - exact[0].0).abs() < 1e-3, "{:?} {:?}", hits[0], exact[0]);
    }
    assert!(right * 100 >= wanted * 99, "{right} of {wanted}");
}

pub(super) async fn chunks_without_a_vector_are_told_until_they_have_one(store: &dyn Store) {
    let one = put(store, version("one")).await;
    let two = put_vector(store, "two", MODEL, &[1.0, 0.0]).await;
    let three = put(store, version("three")).await;
    let bare = |model: &'static str, limit| async move {
        let found = store.bare(model, &[], limit).await.unwrap();
        found.into_iter().map(|bare| (bare.seq, bare.text)).collect::<Vec<_>>()
    };
    assert_eq!(bare(MODEL, 9).await, [(one, "one".to_owned()), (three, "three".to_owned())]);
    assert_eq!(bare(MODEL, 1).await, [(one, "one".to_owned())]);
    assert_eq!(bare("new", 9).await.len(), 3);
    let gone = (999, 0, vec![1.0, 1.0]);
    store.embed(MODEL, &[(one, 0, vec![0.0, 1.0]), gone]).await.unwrap();
    assert_eq!(bare(MODEL, 9).await, [(three, "three".to_owned())]);
    let hits = ask_vector(store, &scope(), MODEL, &[0.0, 1.0]).await;
    assert_eq!(seqs(&hits), [one, two]);
    store.embed(MODEL, &[(one, 0, vec![1.0, -1.0])]).await.unwrap();
    let hits = ask_vector(store, &scope(), MODEL, &[1.0, -1.0]).await;
    assert!(
        (hits[0].score - 1.0).abs() < 1e-6 && hits.len() == 2,
        "the later one counts: {hits:?}"
    );

    let end = Ended { at: at("2026-05-01T00:00:00Z"), why: End::Forgotten, by: None };
    let ends = super::super::Change { ended: Some(Some(end)), ..change(three) };
    store.change(Some(("run", "forgets")), &[ends]).await.unwrap();
    assert_eq!(bare(MODEL, 9).await, [], "it has ended");
    assert_eq!(store.undo("run").await.unwrap(), 1);
    assert_eq!(bare(MODEL, 9).await, [(three, "three".to_owned())]);
    let four = put(store, version("four")).await;
    assert_eq!(bare(MODEL, 9).await[1].0, four);
}

pub(super) async fn chunks_without_a_vector_are_counted_by_tenant(store: &dyn Store) {
    let one = put(store, version("one")).await;
    put_vector(store, "two", MODEL, &[1.0, 0.0]).await;
    let ended = put(store, version("three")).await;
    let mut other = version("theirs");
    other.tenant = "other".into();
    put(store, other).await;
    let end = Ended { at: at("2026-05-01T00:00:00Z"), why: End::Forgotten, by: None };
    let ends = super::super::Change { ended: Some(Some(end)), ..change(ended) };
    store.change(None, &[ends]).await.unwrap();
    let count = |model: &'static str, without: &'static [&str]| async move {
        let without: Vec<String> = without.iter().map(|name| (*name).to_owned()).collect();
        let mut found = store.count_bare(model, &without).await.unwrap();
        found.sort();
        found.into_iter().map(|(tenant, count)| format!("{tenant} {count}")).collect::<Vec<_>>()
    };
    assert_eq!(count(MODEL, &[]).await, ["acme 1", "other 1"]);
    assert_eq!(count("new", &[]).await, ["acme 2", "other 1"]);
    assert_eq!(count("new", &["notes"]).await, Vec::<String>::new());
    store.embed(MODEL, &[(one, 0, vec![0.0, 1.0])]).await.unwrap();
    assert_eq!(count(MODEL, &[]).await, ["other 1"]);
}

pub(super) async fn images_are_found_by_their_own_vectors(store: &dyn Store) {
    let image = |vector: &[f32]| Image {
        uri: String::new(),
        media_type: String::new(),
        sha256: String::new(),
        description: String::new(),
        ocr_text: String::new(),
        vector_model: "clip".into(),
        vector: vector.to_vec(),
    };
    let mut two = version("two images");
    two.draft.images = vec![image(&[1.0, 0.0, 0.0]), image(&[0.0, 1.0, 0.0])];
    let two = put(store, two).await;
    let mut one = version("one image");
    one.draft.images = vec![image(&[0.0, 0.0, 1.0])];
    let one = put(store, one).await;
    put_vector(store, "no image", "clip", &[1.0, 0.0, 0.0]).await;
    let ask = |vector: &[f32]| {
        let image = Some(("clip".to_owned(), vector.to_vec()));
        let ask = Ask { image, limit: 9, ..Ask::default() };
        async move { store.search(&scope(), &ask).await.unwrap().image.unwrap() }
    };
    for (vector, first) in [([1.0, 0.1, 0.0], two), ([0.1, 1.0, 0.0], two), ([0.0, 0.1, 1.0], one)]
    {
        let hits = ask(&vector).await.unwrap();
        assert_eq!((hits[0].seq, hits[0].ordinal, hits.len()), (first, 0, 2), "{vector:?}");
    }
    assert!(matches!(ask(&[1.0]).await, Err(Error::Dimensions { .. })));
}

pub(super) async fn models_are_forgotten_but_for_one(store: &dyn Store) {
    let seq = put_vector(store, "kept", MODEL, &[1.0, 0.0]).await;
    put_vector(store, "old", "old", &[1.0, 0.0, 0.0]).await;
    store.embed("older", &[(seq, 0, vec![1.0])]).await.unwrap();
    assert_eq!(store.forget_models(MODEL).await.unwrap(), 2);
    assert_eq!(store.forget_models(MODEL).await.unwrap(), 0);
    assert_eq!(seqs(&ask_vector(store, &scope(), MODEL, &[1.0, 0.0]).await), [seq]);
    assert_eq!(ask_vector(store, &scope(), "old", &[1.0, 0.0, 0.0]).await, []);
    assert_eq!(store.counts(None).await.unwrap().vectors, [(MODEL.to_owned(), 1)]);
    // Its name may come back with vectors of another length.
    store.embed("old", &[(seq, 0, vec![1.0, 0.0])]).await.unwrap();
    assert_eq!(seqs(&ask_vector(store, &scope(), "old", &[1.0, 0.0]).await), [seq]);
    assert_eq!(ask_words(store, &scope(), "old").await.len(), 1);
}

/// A unit with images of these models, whose vectors have so many numbers.
fn pictured(tenant: &str, models: &[String], dimensions: usize) -> Version {
    let mut version = Version { tenant: tenant.into(), ..version("a picture") };
    let image = |model: &String| Image {
        uri: String::new(),
        media_type: String::new(),
        sha256: String::new(),
        description: String::new(),
        ocr_text: String::new(),
        vector_model: model.clone(),
        vector: vec![1.0; dimensions],
    };
    version.draft.images = models.iter().map(image).collect();
    version
}

async fn try_put(store: &dyn Store, version: Version) -> Result<Option<i64>, Error> {
    let write = Write { tenant: version.tenant.clone(), ..write(version.draft.clone()) };
    store.accept(vec![write.clone()]).await.unwrap();
    Ok(store.settle(vec![settlement(&write.receipt, version)]).await?.remove(0))
}

pub(super) async fn models_of_images_are_each_tenants_own_and_few(store: &dyn Store) {
    let clip = ["clip".to_owned()];
    let ours = put(store, pictured(TENANT, &clip, 3)).await;
    let theirs = put(store, pictured("other", &clip, 2)).await;
    for (tenant, dimensions, seq) in [(TENANT, 3, ours), ("other", 2, theirs)] {
        let scope = Scope { tenant: tenant.into(), ..scope() };
        let image = Some(("clip".to_owned(), vec![1.0; dimensions]));
        let ask = Ask { image, limit: 9, ..Ask::default() };
        let found = store.search(&scope, &ask).await.unwrap().image.unwrap().unwrap();
        assert_eq!(seqs(&found), [seq], "{tenant}");
        assert_eq!(store.image_length(tenant, "clip").await.unwrap(), Some(dimensions));
    }
    assert_eq!(store.image_length(TENANT, "one more").await.unwrap(), None);
    let more: Vec<String> = (1..16).map(|number| format!("model {number}")).collect();
    let full = pictured(TENANT, &more, 2);
    try_put(store, full.clone()).await.unwrap();
    let one = ["one more".to_owned()];
    let error = try_put(store, pictured(TENANT, &one, 2)).await.unwrap_err();
    assert!(matches!(error, Error::Models { most: 16, .. }), "{error}");
    let wrong = try_put(store, pictured(TENANT, &clip, 2)).await.unwrap_err();
    assert!(matches!(wrong, Error::Dimensions { expected: 3, given: 2, .. }), "{wrong}");
    try_put(store, pictured("other", &one, 5)).await.unwrap().unwrap();
    // What has no image any more is no model of the tenant, and its name is free.
    store.erase(TENANT, &full.unit).await.unwrap();
    let again = try_put(store, pictured(TENANT, &more[..1], 7)).await.unwrap().unwrap();
    try_put(store, pictured(TENANT, &one, 2)).await.unwrap().unwrap();
    let image = Some((more[0].clone(), vec![1.0; 7]));
    let ask = Ask { image, limit: 9, ..Ask::default() };
    let found = store.search(&scope(), &ask).await.unwrap().image.unwrap().unwrap();
    assert_eq!(seqs(&found), [again]);
}

pub(super) async fn chunks_that_are_passed_over_hide_none_behind_them(store: &dyn Store) {
    let one = put(store, version("one")).await;
    let two = put(store, version("two")).await;
    let bare = async |model: &str, limit| {
        let found = store.bare(model, &[], limit).await.unwrap();
        found.into_iter().map(|bare| bare.seq).collect::<Vec<_>>()
    };
    assert_eq!(bare(MODEL, 1).await, [one]);
    store.pass_over(MODEL, &[(one, 0)]).await.unwrap();
    assert_eq!(bare(MODEL, 1).await, [two]);
    assert_eq!(bare("another", 9).await, [one, two], "another model may take it");
    store.embed(MODEL, &[(two, 0, vec![1.0])]).await.unwrap();
    assert_eq!(bare(MODEL, 9).await, [0_i64; 0]);
    let three = put(store, version("three")).await;
    assert_eq!(bare(MODEL, 9).await, [three]);
}

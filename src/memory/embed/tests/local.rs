use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::{cosine, folder, pairs};
use crate::memory::embed::{Config, Embedder, Error, Kind, Local, Role, open};

/// Pairs that the calibration was fitted on, and pairs that it was not.
const FITTED: &str = include_str!("pairs.tsv");
const HELD: &str = include_str!("held.tsv");

fn embedder() -> Arc<dyn Embedder> {
    let local = Local { folder: folder(), threads: Some(1) };
    open(&Config { local, ..Config::default() }, &TaskTracker::new()).unwrap().unwrap()
}

async fn one(embedder: &dyn Embedder, role: Role, text: &str) -> Vec<f32> {
    embedder.embed(role, &[text.to_owned()]).await.unwrap().pop().unwrap()
}

/// The nearest of `passages` to `question`.
async fn nearest(embedder: &dyn Embedder, question: &str, passages: &[String]) -> usize {
    let question = one(embedder, Role::Query, question).await;
    let vectors = embedder.embed(Role::Passage, passages).await.unwrap();
    let near = |at: &usize| cosine(&question, &vectors[*at]);
    (0..passages.len()).max_by(|a, b| near(a).total_cmp(&near(b))).unwrap()
}

#[tokio::test]
async fn questions_find_their_answers_in_both_languages_and_across() {
    let embedder = embedder();
    let passages = [
        "The gearbox oil is changed after 2,000 hours of operation.",
        "Parking permits for visitors are handed out at the gate.",
        "The canteen closes at two on Fridays.",
        "变速箱机油每运行两千小时更换一次。",
        "访客停车证在门卫处领取。",
        "食堂周五下午两点关门。",
    ]
    .map(str::to_owned);
    let (english, chinese) = passages.split_at(3);
    for (at, own, other) in [
        (0, "how often is the oil of the gear unit replaced?", "齿轮箱的油多久换一次？"),
        (1, "where do guests get a permit for their car?", "客人的停车许可在哪里拿？"),
        (2, "until when can I eat lunch on Friday?", "星期五吃午饭到几点？"),
    ] {
        for question in [own, other] {
            assert_eq!(nearest(&*embedder, question, english).await, at, "{question}");
            assert_eq!(nearest(&*embedder, question, chinese).await, at, "{question}");
            assert_eq!(nearest(&*embedder, question, &passages).await % 3, at, "{question}");
        }
    }
}

#[tokio::test]
async fn equal_texts_have_equal_vectors_of_length_one() {
    let (first, second) = (embedder(), embedder());
    assert_eq!(first.model(), second.model());
    assert!(first.model().name.starts_with("multilingual-e5-small@"), "{:?}", first.model());
    for text in ["", "pump P-210", "泵", "🙂 ｆｕｌｌ　ｗｉｄｔｈ"] {
        let vector = one(&*first, Role::Passage, text).await;
        assert_eq!(vector.len(), first.model().dimensions);
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "{text}");
        assert_eq!(vector, one(&*second, Role::Passage, text).await, "{text}");
    }
}

#[tokio::test]
async fn a_vector_does_not_depend_on_its_neighbours() {
    let embedder = embedder();
    let mut texts: Vec<String> = pairs(HELD).into_iter().map(|pair| pair.1).collect();
    texts.push("word ".repeat(200));
    texts.push(String::new());
    texts.push("短".to_owned());
    let together = embedder.embed(Role::Passage, &texts).await.unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        let alone = one(&*embedder, Role::Passage, text).await;
        let far = alone.iter().zip(vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-3, "{text}: {far}");
    }
    assert!(embedder.embed(Role::Query, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_question_and_a_passage_of_the_same_text_differ() {
    let embedder = embedder();
    let text = "The pump loses pressure.";
    let query = one(&*embedder, Role::Query, text).await;
    let passage = one(&*embedder, Role::Passage, text).await;
    let near = cosine(&query, &passage);
    assert!((0.3..0.999).contains(&near), "{near}");
}

#[tokio::test]
async fn a_text_beyond_what_the_model_takes_is_embedded_by_its_beginning() {
    let embedder = embedder();
    let begin = "The boiler is shut down by closing the fuel valve first. ".repeat(60);
    let longer = format!("{begin}{}", "Nothing of this is read any more. ".repeat(30_000));
    let vectors = embedder.embed(Role::Passage, &[begin, longer]).await.unwrap();
    assert!(cosine(&vectors[0], &vectors[1]) > 0.9999);
}

/// Of all pairs of a question and a passage, the part of the answers at or above the threshold, the
/// part of translated answers there, and the part of all else below it.
async fn parts(embedder: &dyn Embedder, text: &str) -> [f64; 3] {
    let pairs = pairs(text);
    let half = pairs.len() / 2;
    let (questions, passages): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let questions = embedder.embed(Role::Query, &questions).await.unwrap();
    let passages = embedder.embed(Role::Passage, &passages).await.unwrap();
    let mut counts = [(0_u32, 0_u32); 3];
    for (i, question) in questions.iter().enumerate() {
        for (j, passage) in passages.iter().enumerate() {
            let above = embedder.calibrate(cosine(question, passage)) >= 0.35;
            let (kind, right) = match i == j {
                true => (0, above),
                false if i % half == j % half => (1, above),
                false => (2, !above),
            };
            counts[kind].0 += u32::from(right);
            counts[kind].1 += 1;
        }
    }
    counts.map(|(right, all)| f64::from(right) / f64::from(all))
}

#[tokio::test]
async fn the_threshold_tells_answers_from_all_else() {
    let embedder = embedder();
    for text in [FITTED, HELD] {
        let [answers, translated, rest] = parts(&*embedder, text).await;
        assert!(
            answers >= 0.93 && translated >= 0.85 && rest >= 0.98,
            "{answers} {translated} {rest}"
        );
    }
}

#[tokio::test]
async fn a_question_passes_passages_that_wait() {
    let embedder = embedder();
    let many: Vec<String> = (0..400).map(|n| format!("{n} {}", "long text ".repeat(100))).collect();
    let import = embedder.embed(Role::Passage, &many);
    let question = async { one(&*embedder, Role::Query, "short?").await };
    tokio::select! {
        biased;
        _ = import => panic!("the question waited for the import"),
        vector = question => assert_eq!(vector.len(), 384),
    }
}

#[tokio::test]
async fn a_folder_that_is_damaged_or_not_there_is_refused() {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    let refused = async |told: &str| {
        let local = Local { folder: copy.path().to_owned(), threads: Some(1) };
        let config = Config { local, ..Config::default() };
        let error = match open(&config, &TaskTracker::new()) {
            Err(error) => error,
            // What only the weights tell is found at the first use.
            Ok(embedder) => {
                let texts = ["a".to_owned()];
                embedder.unwrap().embed(Role::Query, &texts).await.unwrap_err()
            }
        };
        assert!(matches!(error, Error::Folder { .. }), "{error:?}");
        assert!(error.to_string().contains(told), "{error}");
    };
    let manifest = copy.path().join("model.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (old, new, told) in [
        ("dimensions = 384", "dimensions = 512", "in it has not 512 numbers"),
        ("max_tokens = 512", "max_tokens = 0", "is 0"),
        ("pooling = \"mean\"", "pooling = \"median\"", "median"),
        ("\"model.onnx\" =", "\"other.onnx\" =", "no digest of `model.onnx`"),
        ("[0.2, 0.35]", "[0.2, 3.5]", "calibration"),
    ] {
        std::fs::write(&manifest, text.replace(old, new)).unwrap();
        refused(told).await;
    }
    std::fs::write(&manifest, &text).unwrap();
    std::fs::write(copy.path().join("tokenizer.json"), "{}").unwrap();
    refused("`tokenizer.json` has the digest").await;
    std::fs::remove_file(copy.path().join("tokenizer.json")).unwrap();
    refused("`tokenizer.json` cannot be read").await;
    std::fs::remove_file(manifest).unwrap();
    refused("deploy/model.sh").await;
}

#[tokio::test]
async fn a_model_is_read_at_its_first_use_and_once() {
    let embedder = embedder();
    assert!(!embedder.is_loading());
    let texts = ["pump".to_owned()];
    let both = async {
        tokio::join!(embedder.embed(Role::Query, &texts), embedder.embed(Role::Query, &texts))
    };
    let reading = async {
        while !embedder.is_loading() {
            tokio::task::yield_now().await;
        }
    };
    let ((one, two), ()) = tokio::join!(both, reading);
    assert_eq!(one.unwrap(), two.unwrap());
    assert!(!embedder.is_loading());
    // Who gave up on it has not stopped it.
    let cold = self::embedder();
    let gave_up = tokio::time::timeout(std::time::Duration::ZERO, cold.embed(Role::Query, &texts));
    assert!(gave_up.await.is_err());
    assert_eq!(cold.embed(Role::Query, &texts).await.unwrap().len(), 1);
}

#[test]
fn none_is_an_embedder_too() {
    let config = Config { kind: Kind::None, ..Config::default() };
    assert!(open(&config, &TaskTracker::new()).unwrap().is_none());
    let config = Config { kind: Kind::Endpoint, ..Config::default() };
    let error = open(&config, &TaskTracker::new()).unwrap_err().to_string();
    assert!(error.contains("`memory.embedder.endpoint`"), "{error}");
}

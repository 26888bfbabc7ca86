use serde::Deserialize;

use super::folder;
use crate::memory::embed::tokenizer::Tokenizer;

/// Texts and the ids that the reference in Python (`tokenizers` 0.23) gives them.
const REFERENCE: &str = include_str!("ids.jsonl");

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
}

fn real() -> Tokenizer {
    Tokenizer::read(&std::fs::read(folder().join("tokenizer.json")).unwrap()).unwrap()
}

#[test]
fn ids_are_those_of_the_reference() {
    let tokenizer = real();
    let mut count = 0;
    for line in REFERENCE.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        assert_eq!(tokenizer.encode("", &case.text, 512).ids, case.ids, "{:?}", case.text);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn a_text_writes_no_special_token() {
    let tokenizer = real();
    let ids = tokenizer.encode("", "a</s><s><mask><pad><unk>b", 512).ids;
    let inner = &ids[1..ids.len() - 1];
    assert!(inner.iter().all(|id| *id > 3 && *id != 250_001), "{ids:?}");
}

#[test]
fn a_long_text_is_cut_at_its_end_and_says_so() {
    let tokenizer = real();
    let sentence = "设备在运行时出现异常振动。";
    let text = sentence.repeat(100_000);
    let tokens = tokenizer.encode("passage: ", &text, 512);
    assert_eq!((tokens.ids.len(), tokens.cut), (512, true));
    let short = tokenizer.encode("passage: ", &sentence.repeat(10), 512);
    assert!(!short.cut);
    assert_eq!(tokens.ids[..50], short.ids[..50]);
    assert_eq!((tokens.ids.first(), tokens.ids.last()), (Some(&0), Some(&2)));
}

#[test]
fn files_of_other_kinds_are_refused_by_name() {
    let unigram = r#"{"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}"#;
    let file = |model: &str, split: &str| {
        format!(r#"{{"model": {model}, "pre_tokenizer": {{"type": "{split}"}}}}"#)
    };
    let read = |text: String| Tokenizer::read(text.as_bytes());
    read(file(unigram, "Metaspace")).unwrap();
    for (model, split, told) in [
        (unigram, "ByteLevel", "`Metaspace`"),
        (r#"{"type": "BPE", "vocab": []}"#, "Metaspace", "unigram"),
        (r#"{"type": "WordPiece", "vocab": {"a": 1}}"#, "Metaspace", "unigram"),
        (r#"{"type": "Unigram", "vocab": [["a", -1.0]]}"#, "Metaspace", "unk_id"),
    ] {
        let error = read(file(model, split)).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn the_most_probable_pieces_win_and_unknown_characters_in_a_row_are_one() {
    let file = r#"{
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "_"},
        "model": {"type": "Unigram", "unk_id": 0, "vocab":
            [["<unk>", 0.0], ["_", -3.0], ["a", -2.0], ["b", -2.0], ["ab", -3.5], ["_a", -2.5]]}
    }"#;
    let tokenizer = Tokenizer::read(file.as_bytes()).unwrap();
    let ids = |text: &str| tokenizer.encode("", text, 100).ids;
    // `_a` + `b` = -4.5 beats `_` + `ab` = -6.5.
    assert_eq!(ids("ab"), [5, 3]);
    assert_eq!(ids("ＡＢ bab"), [5, 3, 1, 3, 4]);
    assert_eq!(ids("a??b"), [5, 0, 3]);
    assert_eq!(ids(""), Vec::<u32>::new());
}

//! Masking of secret values, however they are written and however they are cut.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use crate::sandbox::secrets::Hidden;
use crate::sandbox::veil::{Cover, Veil};

const VALUE: &str = "k3y/+a\"b\\c&d<e>=%7Ef g";

fn veil(values: &[&str], logins: &[&str]) -> Arc<Veil> {
    let hide = |texts: &[&str]| -> Vec<Hidden> {
        texts.iter().map(|text| Hidden::new(text.as_bytes().to_vec())).collect()
    };
    Arc::new(Veil::new(hide(values).iter(), hide(logins).iter()))
}

fn masked(veil: &Arc<Veil>, text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    veil.mask(&mut bytes);
    assert_eq!(bytes.len(), text.len());
    bytes
}

/// Masks `text` in pieces that end at `cuts`.
fn streamed(veil: &Arc<Veil>, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut cover = Cover::new(veil);
    let mut out = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([text.len()]) {
        let cut = cut.clamp(from, text.len());
        out.extend_from_slice(&cover.push(&text[from..cut]));
        from = cut;
    }
    out.extend_from_slice(&cover.finish());
    out
}

fn percent(text: &str, keep: impl Fn(u8) -> bool, plus: bool) -> String {
    text.bytes()
        .map(|b| match b {
            b' ' if plus => "+".to_owned(),
            b if keep(b) => char::from(b).to_string(),
            b => format!("%{b:02x}"),
        })
        .collect()
}

/// The value in every way in which a server is known to give one back.
fn spellings() -> Vec<String> {
    let json = serde_json::to_string(VALUE).unwrap();
    let json = json.trim_matches('"').to_owned();
    let html = VALUE.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    vec![
        VALUE.to_owned(),
        VALUE.to_uppercase(),
        percent(VALUE, |b| b.is_ascii_alphanumeric(), false),
        percent(VALUE, |b| b.is_ascii_alphanumeric() || b == b'/', true),
        percent(VALUE, |_| false, false).to_uppercase(),
        percent(VALUE, |b| b.is_ascii_alphanumeric(), false).replace('%', "%25"),
        json.clone(),
        json.replace('/', "\\/").replace('<', "\\u003c").replace('>', "\\u003E"),
        json.replace('&', "\\u0026").replace('\\', "\\\\"),
        VALUE.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        VALUE.chars().map(|c| format!("\\x{:02X}", u32::from(c))).collect(),
        html.replace('"', "&quot;"),
        html.replace('"', "&#34;").replace('/', "&#x2F;"),
        hex::encode(VALUE),
        hex::encode_upper(VALUE),
        // Some of it escaped one way, some another.
        VALUE.replace('/', "%2F").replace('"', "\\\"").replace('&', "&amp;"),
    ]
}

#[test]
fn a_value_is_masked_in_every_spelling_and_nothing_else_is() {
    let veil = veil(&[VALUE], &[]);
    for spelling in spellings() {
        let text = format!("{{\"a\":\"before {spelling}\", \"after\":1}}");
        let out = String::from_utf8(masked(&veil, text.as_bytes())).unwrap();
        let stars = "*".repeat(spelling.len());
        assert_eq!(out, format!("{{\"a\":\"before {stars}\", \"after\":1}}"), "{spelling}");
    }
    for other in ["k3y/+a\"b", "100% & \\u00e9 &nbsp; %2", "", "k3y/+a\"b\\c&d<e>=%7Ef h"] {
        assert_eq!(masked(&veil, other.as_bytes()), other.as_bytes());
    }
}

#[test]
fn base64_is_found_at_any_offset_and_in_either_alphabet() {
    let value = "s3cr3t~value?with>odd~bytes";
    let veil = veil(&[value], &[]);
    for before in ["", "u", "us", "user:", "\u{fffd}\u{fffd}??"] {
        let whole = format!("{before}{value}~after");
        for text in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
            for wrapped in [
                text.clone(),
                text.as_bytes()
                    .chunks(70)
                    .map(|c| format!("{}\r\n", std::str::from_utf8(c).unwrap()))
                    .collect(),
                percent(&text, |b| b.is_ascii_alphanumeric(), false),
            ] {
                let out = String::from_utf8(masked(&veil, wrapped.as_bytes())).unwrap();
                let bare = out.replace("\r\n", "");
                let left = bare.trim_matches('*');
                // What is left holds fewer than eight bits of the value on either side.
                let stars = out.bytes().filter(|b| *b == b'*').count();
                assert!(stars + 2 >= value.len() * 8 / 6, "{before} {wrapped} {out} {left}");
            }
        }
    }
}

#[test]
fn a_login_and_wide_characters_are_masked() {
    let login = STANDARD.encode("user:s3cr3t-value");
    let bare = login.trim_end_matches('=');
    let veil = veil(&["s3cr3t-value"], &[bare]);
    let out = masked(&veil, format!("Authorization: Basic {login}\r\n").as_bytes());
    let stars = "*".repeat(bare.len());
    assert!(String::from_utf8(out).unwrap().contains(&format!("Basic {stars}")), "{login}");
    for wide in [
        "s3cr3t-value".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(),
        "s3cr3t-value".encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ] {
        let out = masked(&veil, &[b"\x01", &wide[..], b"\x02"].concat());
        assert_eq!(out[1..=wide.len()], vec![b'*'; wide.len()]);
    }
}

#[test]
fn what_is_held_back_does_not_tell_whether_it_is_the_beginning_of_a_value() {
    let veil = veil(&["s3cr3t-value"], &["dXNlcjpzM2NyM3QtdmFsdWU"]);
    let filler = "x".repeat(5000);
    let settled = |end: &str| {
        let mut cover = Cover::new(&veil);
        let first = cover.push(filler.as_bytes()).len();
        let then: Vec<_> = end.bytes().map(|byte| cover.push(&[byte]).len()).collect();
        let rest = cover.finish().len();
        assert_eq!(first + then.iter().sum::<usize>() + rest, filler.len() + end.len());
        (first, then)
    };
    let plain = settled("no beginning at all");
    assert!(plain.0 > 4000 && plain.1.iter().all(|bytes| *bytes == 1), "{plain:?}");
    for end in ["s3cr3t-value", "s3cr3t-valux", "%73%33cr3t-v", "dXNlcjpzM2NyM", "\\u0073\\u0033c"]
    {
        let found = settled(end);
        assert_eq!((found.0, &found.1[..12]), (plain.0, &plain.1[..12]), "{end}");
    }
}

#[test]
fn a_hostile_text_can_neither_exhaust_the_stack_nor_grow_what_is_held() {
    let veil = veil(&["s3cr3t-value-of-some-length"], &["dXNlcjpzM2NyM3QtdmFsdWU"]);
    for (start, filler) in [
        ("dXNlcjpz", "\n"),
        ("dXNlcjpz", "\\n"),
        ("dXNlcjpz", "\\r\\n"),
        ("s3cr", "\\"),
        ("s3cr", "%25"),
        ("s3cr", "&amp;"),
        ("s3cr", "s3cr"),
    ] {
        let mut cover = Cover::new(&veil);
        let text = format!("{start}{}", filler.repeat(100_000));
        let settled = cover.push(text.as_bytes()).len();
        assert!(text.len() - settled < 2000, "{filler}: {} held", text.len() - settled);
    }
}

#[test]
fn of_two_values_the_longer_one_wins() {
    let veil = veil(&["shared-value", "shared-value-and-more"], &[]);
    for cuts in [&[][..], &[15], &[1, 2, 20]] {
        let out = streamed(&veil, b"a shared-value-and-more b shared-value c", cuts);
        assert_eq!(out, b"a ********************* b ************ c".to_vec());
    }
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        pieces in prop::collection::vec((0..18_usize, "[ -~]{0,6}"), 1..6),
        cuts in prop::collection::vec(0..400_usize, 0..12),
    ) {
        let veil = veil(&[VALUE, "another-secret"], &[]);
        let known = spellings();
        let text: String = pieces.iter().map(|(which, filler)| {
            let spelling = known.get(*which).map_or("another-secret", String::as_str);
            format!("{filler}{spelling}")
        }).collect();
        let mut cuts = cuts;
        cuts.sort_unstable();
        let whole = masked(&veil, text.as_bytes());
        prop_assert_eq!(&whole, &streamed(&veil, text.as_bytes(), &cuts));
        let shown = String::from_utf8_lossy(&whole).into_owned();
        prop_assert!(!shown.contains("another-secret"), "{}", shown);
    }

    #[test]
    fn bytes_of_any_kind_keep_their_number(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let veil = veil(&[VALUE], &[]);
        prop_assert_eq!(streamed(&veil, &bytes, &[1, 100, 200]).len(), bytes.len());
    }
}

//! Strict reading.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{check, kinds, one, violations};
use crate::schema::{Bounds, Error, Flaw, FlawKind, MAX_ARGUMENTS_BYTES, read};

fn flaw(text: &str) -> Flaw {
    let bounds = Bounds { bytes: MAX_ARGUMENTS_BYTES, depth: 64 };
    read(text, bounds).unwrap_err()
}

#[test]
fn each_flaw_is_named() {
    for (text, kind) in [
        ("", FlawKind::Truncated),
        ("  ", FlawKind::Truncated),
        (r#"{"account":"A1","amount":100"#, FlawKind::Truncated),
        (r#"{"path":"/var/lib","recursive":tr"#, FlawKind::Truncated),
        (r#"{"q":"abc"#, FlawKind::Truncated),
        (r#"{"ids":[1,2"#, FlawKind::Truncated),
        (r#"{"a":1,"b":"#, FlawKind::Truncated),
        (r#"{"a":1."#, FlawKind::Truncated),
        (r#"{"a":"\u00"#, FlawKind::Truncated),
        (r#"{"to":"a","amt":5}{"to":"b","amt":7}"#, FlawKind::Trailing),
        ("{\"to\":\"a\"}\nnull", FlawKind::Trailing),
        (r#"{"a":1} x"#, FlawKind::Trailing),
        (r#"{"a":NaN}"#, FlawKind::Number),
        (r#"{"a":-Infinity}"#, FlawKind::Number),
        (r#"{"a":01}"#, FlawKind::Number),
        (r#"{"a":+1}"#, FlawKind::Number),
        (r#"{"a":1.x}"#, FlawKind::Number),
        (r#"{"a":1e99999}"#, FlawKind::Number),
        (r#"{"a":"\ud800"}"#, FlawKind::Text),
        (r#"{"a":"\ud800\ud800"}"#, FlawKind::Text),
        (r#"{"a":"\udc00"}"#, FlawKind::Text),
        (r#"{"a":"\d"}"#, FlawKind::Text),
        (r#"{"a":"\u00é9"}"#, FlawKind::Text),
        ("{\"a\":\"x\ny\"}", FlawKind::Text),
        (r#"{"a":1,"a":2}"#, FlawKind::DuplicateKey),
        (r#"{"$serde_json::private::Number":"1"}"#, FlawKind::ReservedKey),
        (r#"{"a":1,}"#, FlawKind::Syntax),
        (r#"{'a':1}"#, FlawKind::Syntax),
        (r#"{"a":True}"#, FlawKind::Syntax),
        (r#"{"sql":"select "a", b","n":1}"#, FlawKind::Syntax),
        (r#"{"a" 1}"#, FlawKind::Syntax),
        ("{\"a\":\u{feff}1}", FlawKind::Syntax),
    ] {
        assert_eq!(flaw(text).kind, kind, "{text}");
    }
}

#[test]
fn position_and_pointer_name_the_place() {
    let flaw = flaw("{\"a\": [1, {\n  \"é/x\": 1, \"é/x\": 2}]}");
    assert_eq!(flaw.pointer, "/a/1/é~1x");
    assert_eq!((flaw.line, flaw.column), (2, 13));
    assert!(flaw.message.contains("`é/x`"), "{}", flaw.message);
}

#[test]
fn digits_and_escapes_survive() {
    let text =
        r#"{"n":123456789012345678901234567890,"d":1.10,"e":1e3,"s":"\ud83d\ude00\u4f60\\n"}"#;
    let done = check(json!({"type": "object"}), text).unwrap();
    assert_eq!(
        done.value.to_string(),
        "{\"n\":123456789012345678901234567890,\"d\":1.10,\"e\":1e+3,\"s\":\"😀你\\\\n\"}"
    );
}

#[test]
fn bounds_and_lists_compare_exactly_beyond_what_a_float_holds() {
    for (schema, fits, does_not) in [
        (r#"{"maximum":18446744073709551616}"#, "18446744073709551616", "18446744073709551617"),
        (r#"{"minimum":18446744073709551617}"#, "18446744073709551617", "18446744073709551616"),
        (r#"{"exclusiveMaximum":1e25}"#, "9999999999999999999999999", "1e25"),
        (r#"{"minimum":-18446744073709551617}"#, "-18446744073709551617", "-18446744073709551618"),
        (r#"{"maximum":0.1}"#, "0.1", "0.10000000000000000001"),
        (r#"{"enum":[18446744073709551617]}"#, "18446744073709551617", "18446744073709551616"),
        (r#"{"multipleOf":3}"#, "18446744073709551618", "18446744073709551617"),
        (r#"{"multipleOf":0.01}"#, "18446744073709551616.01", "18446744073709551616.011"),
        (r#"{"multipleOf":18446744073709551617}"#, "36893488147419103234", "36893488147419103233"),
        (
            r#"{"maximum":18446744073709551616.5}"#,
            "18446744073709551616.5",
            "18446744073709551616.6",
        ),
        (r#"{"exclusiveMinimum":-1e30}"#, "-999999999999999999999999999999", "-1e30"),
        (r#"{"maximum":1e400}"#, "1e400", "1e401"),
        (r#"{"minimum":1e400}"#, "1e401", "1e399"),
        (r#"{"minimum":-1e400}"#, "-1e400", "-1e401"),
        (r#"{"maximum":1e-400}"#, "1e-400", "1e-399"),
        (r#"{"const":1e400}"#, "1e400", "1e401"),
        (r#"{"type":"integer"}"#, "18446744073709551616", "18446744073709551616.5"),
    ] {
        let schema = || one(serde_json::from_str(schema).unwrap());
        let given = |number: &str| format!(r#"{{"v":{number}}}"#);
        assert!(check(schema(), &given(fits)).is_ok(), "{fits} fits {}", schema());
        assert!(check(schema(), &given(does_not)).is_err(), "{does_not} fits not {}", schema());
    }
}

#[test]
fn size_and_depth_are_bounded_and_fast() {
    let schema = || one(json!({"type": "array"}));
    let deep = |open: &str, count: usize| open.repeat(count);
    let started = Instant::now();
    for (text, kind) in [
        (format!(r#"{{"v":{}{}}}"#, deep("[", 100_000), deep("]", 100_000)), "depth"),
        (deep(r#"{"a":"#, 100_000), "depth"),
        (format!(r#"{{"v":{}1{}}}"#, deep("[", 10_000), deep("]", 10_000)), "depth"),
        (format!(r#"{{"v":"{}"}}"#, "x".repeat(10 << 20)), "size"),
        (format!(r#"{{"v":"{}{}"}}"#, deep("[", 100_000), deep("]", 100_000)), "type"),
    ] {
        let error = check(schema(), &text).unwrap_err();
        assert_eq!(kinds(&error), [kind]);
    }
    // Two levels of encoding are opened, never a hundred thousand.
    let quoted = format!("\"{}\"", "\\\"".repeat(100_000));
    assert!(check(schema(), &quoted).is_err());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn depth_limit_is_exact() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let schema = || json!({"type": "object"});
    assert!(check(schema(), &format!(r#"{{"v":{}}}"#, nested(63))).is_ok());
    let error = check(schema(), &format!(r#"{{"v":{}}}"#, nested(64))).unwrap_err();
    assert!(matches!(error, Error::Unreadable(_)));
    // A string that is decoded counts where it stands.
    let encoded = format!(r#"{{"v":"{}"}}"#, nested(64));
    assert!(check(one(json!({"type": "array"})), &encoded).is_err());
}

#[test]
fn not_an_object_is_refused() {
    for text in ["42", "null", "[1]", r#""just text""#, r#""[{\"shop\":\"A\"}]""#] {
        let error = check(json!({"type": "object"}), text).unwrap_err();
        assert_eq!(violations(&error)[0].expected, json!({"type": "object"}), "{text}");
    }
}

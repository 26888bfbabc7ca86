//! The canonical spelling.

use crate::schema::{Bounds, canonical, digest, read};

fn canon(text: &str) -> String {
    let bounds = Bounds { bytes: 1 << 20, depth: 64 };
    canonical(&read(text, bounds).unwrap())
}

#[test]
fn equal_numbers_share_one_spelling() {
    for (text, expected) in [
        ("1", "1"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("1e2", "100"),
        ("-0", "0"),
        ("-0.0e9", "0"),
        ("0.10", "0.1"),
        ("-12.50", "-12.5"),
        ("0.000001", "0.000001"),
        ("1E-7", "1e-7"),
        ("123456789e12", "123456789000000000000"),
        ("1e21", "1e+21"),
        ("12e9999", "1.2e+10000"),
        ("123456789012345678901234567890", "1.2345678901234567890123456789e+29"),
        ("0.30000000000000004", "0.30000000000000004"),
    ] {
        assert_eq!(canon(text), expected, "{text}");
    }
}

#[test]
fn different_numbers_never_share_a_spelling() {
    assert_ne!(canon("9007199254740993"), canon("9007199254740992"));
    assert_ne!(canon("18446744073709551617"), canon("18446744073709551616"));
    assert_ne!(canon("0.1"), canon("0.1000000000000000055511151231257827"));
    assert_ne!(canon("1e400"), canon("1e401"));
}

#[test]
fn keys_stand_in_utf16_order_and_strings_are_not_normalised() {
    assert_eq!(canon(r#"{"b":2,"a":{"d":1,"c":2}}"#), r#"{"a":{"c":2,"d":1},"b":2}"#);
    // U+1F600 is two surrogates from D83D on, so it comes before U+FB33.
    assert_eq!(canon("{\"\u{fb33}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
    assert_ne!(canon("\"caf\u{e9}\""), canon("\"cafe\u{301}\""));
    assert_eq!(canon(r#""\u000a\u0007\/\u00e9""#), "\"\\n\\u0007/\u{e9}\"");
    assert_ne!(canon("[1,2]"), canon("[2,1]"));
}

#[test]
fn digest_is_sha256_in_hex() {
    assert_eq!(digest("{}"), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

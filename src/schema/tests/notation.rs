//! Texts that are not quite JSON: read where one thing can be meant, else told what stands there.

use serde_json::json;

use super::{check, violations};

/// What is read, and how often that was a repair of the notation.
fn read(given: &str) -> String {
    let done =
        check(json!({"type": "object"}), given).unwrap_or_else(|error| panic!("{given}: {error}"));
    let kinds: Vec<&str> = done.repairs.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["notation"], "{given}");
    assert_eq!(done.repairs[0].to, done.value.to_string(), "{given}");
    done.value.to_string()
}

/// The kind and the message of the one flaw.
fn refused(given: &str) -> (String, String) {
    let error = match check(json!({"type": "object"}), given) {
        Err(error) => error,
        Ok(done) => panic!("{given}: read as {}", done.value),
    };
    (violations(&error).remove(0).kind, error.to_string())
}

#[test]
fn characters_that_nobody_sees_are_ignored_outside_strings_and_kept_inside() {
    for given in [
        "\u{feff}{\"k\":\"v\"}",
        "\u{200b}{\"k\":\"v\"}\u{200b}",
        "{\u{a0}\"k\"\u{a0}:\u{3000}\"v\"\u{2009}}",
        "{\u{2060}\"k\":\u{202f}\"v\"}\u{feff}\n",
        "{\"k\":\u{2028}\"v\"}",
        "{\u{a0}'k': 'v'}",
    ] {
        assert_eq!(read(given), r#"{"k":"v"}"#, "{given:?}");
    }
    let kept = "{\u{a0}\"a\u{200b}\":\"\u{feff} \u{a0}\u{3000}\"}";
    assert_eq!(read(kept), "{\"a\u{200b}\":\"\u{feff} \u{a0}\u{3000}\"}");
    // Inside a number it is no space.
    assert_eq!(refused("{\"n\":1\u{200b}2}").0, "syntax");
    assert_eq!(refused("{\"n\":\u{a0}1").0, "truncated");
}

#[test]
fn comments_and_bare_keys_are_read_where_they_can_be_nothing_else() {
    for (given, expected) in [
        ("{\"k\":\"v\", // why\n \"n\":2}", r#"{"k":"v","n":2}"#),
        ("{\"k\":\"v\" /* a \"b\" } */, \"n\":2}", r#"{"k":"v","n":2}"#),
        ("// first\n{\"k\":\"v\"}\n// last", r#"{"k":"v"}"#),
        ("{'k': 'v', # it's\n 'n': 2,}", r#"{"k":"v","n":2}"#),
        ("{\"n\":2, // the limit\n}", r#"{"n":2}"#),
        ("{\"n\":2 // seconds\n}", r#"{"n":2}"#),
        ("{\"l\":[ // both\n 1, /**/ 2 ]}", r#"{"l":[1,2]}"#),
        (
            "{\"u\":\"http://h.test//x\", \"c\":\"/* # */\",}",
            r##"{"u":"http://h.test//x","c":"/* # */"}"##,
        ),
        ("{k:\"v\",n:2}", r#"{"k":"v","n":2}"#),
        ("{ user_id : 'a', $b: true, été: null}", r#"{"user_id":"a","$b":true,"été":null}"#),
        ("{a:{b:[{c:1}]}}", r#"{"a":{"b":[{"c":1}]}}"#),
        ("{u: u'x'}", r#"{"u":"x"}"#),
    ] {
        assert_eq!(read(given), expected, "{given}");
    }
    for (given, words) in [
        ("{\"n\": 7 // 2\n}", "may divide"),
        ("{\"l\": [//host/share,\n \"b\"]}", "may be a comment or text"),
        ("{\"l\": [#fff,\n \"b\"]}", "may be a comment or text"),
        ("{True: 1, 'b': 2}", "is no key"),
        ("{user-id: 1}", "the key `user` must stand in double quotes"),
        ("{1: 'a'}", "expected a key in double quotes"),
        ("{\"a\":v}", "`v` is no JSON value"),
        ("{,}", "a comma too many"),
        ("{\"a\":[,1]}", "a value is missing"),
        ("{\"a\":1,,\"b\":2}", "a comma too many"),
        ("{\"a\": undefined}", "no `undefined`"),
        ("{\"a\": ...}", "left out"),
    ] {
        let told = refused(given).1;
        assert!(told.contains(words), "{given}: {told}");
    }
}

#[test]
fn typographic_punctuation_is_read_where_no_straight_quote_is() {
    for (given, expected) in [
        ("{“k”:“v”}", r#"{"k":"v"}"#),
        ("{”k”: ”v”, “n”: 2}", r#"{"k":"v","n":2}"#),
        ("{“k”：“it's, so: {fine}”，“n”：2}", r#"{"k":"it's, so: {fine}","n":2}"#),
        ("｛“k”：［“v”］｝", r#"{"k":["v"]}"#),
        ("{k：1}", r#"{"k":1}"#),
    ] {
        assert_eq!(read(given), expected, "{given}");
    }
    for (given, words) in [
        ("{“k”: \"v\"}", "`“` (U+201C)"),
        ("{\"k\"：\"v\"}", "`：` (U+FF1A)"),
        ("{\"k\":\"v\"，\"n\":1}", "`，` (U+FF0C)"),
        ("{“k”: 'v'}", "mixed"),
        ("{“k”: “he said “hi””}", "cannot be told"),
        ("{“k”: “a” b”}", "cannot be told"),
        ("{«k»: 1}", "`«` (U+00AB)"),
        ("{`k`: 1}", "a backtick"),
        ("{&quot;k&quot;: 1}", "`&quot;`"),
    ] {
        let told = refused(given).1;
        assert!(told.contains(words), "{given}: {told}");
    }
    let inside = "{\"k\":\"“say”：'hi'，\"}";
    let done = check(json!({"type": "object"}), inside).unwrap();
    assert_eq!((done.value.to_string().as_str(), done.repairs.len()), (inside, 0));
    assert_eq!(refused("{“k”:“v").0, "truncated");
    assert_eq!(refused("{“k”:“v”").0, "truncated");
}

#[test]
fn marks_around_one_object_are_taken_off() {
    for given in [
        "<think>search</think>{\"k\":\"v\"}",
        "<think>perhaps {\"k\":\"no\"}</think>\n{\"k\":\"v\"}",
        "<thinking>x</thinking>\n\n```json\n{\"k\":\"v\"}\n```<|im_end|>",
        "</think>{\"k\":\"v\"}",
        "{\"k\":\"v\"}</tool_call>",
        "<tool_call>\n{\"k\":\"v\"}\n</tool_call>\n<|im_end|>",
        "{'k': 'v'}<|eot_id|>",
        "```\n{\"k\":\"v\"}",
    ] {
        assert_eq!(read(given), r#"{"k":"v"}"#, "{given}");
    }
    for (given, words) in [
        ("Here are the arguments: {\"k\":\"v\"}", "text stands before the JSON object (`Here are"),
        ("{\"k\":\"v\"} I hope this helps", "more text follows the JSON value (`I hope"),
        ("{\"k\":\"v\"};", "more text follows"),
        ("{\"k\":\"v\"}}", "more text follows"),
        ("json{\"k\":\"v\"}", "text stands before"),
        ("<think>a</think>{\"k\":1}<think>b</think>{\"k\":2}", "more text follows"),
        ("<think>a</think>{\"k\":1}{\"k\":2}", "a second JSON value"),
        ("<think>a</think> so {\"k\":1}", "text stands before"),
        ("<b>{\"k\":1}</b>", "a mark (`<b>"),
    ] {
        let told = refused(given).1;
        assert!(told.contains(words), "{given}: {told}");
    }
    let inside = r#"{"k":"<think>x</think>```</tool_call>"}"#;
    let done = check(json!({"type": "object"}), inside).unwrap();
    assert_eq!((done.value.to_string().as_str(), done.repairs.len()), (inside, 0));
}

#[test]
fn what_is_cut_off_is_told_so_and_nothing_else() {
    for given in [
        "{k: 1, n:",
        "{\"k\":\"v\", // and",
        "{\"k\":\"v\" /* and",
        "<think>then {\"k\":\"v\"}",
        "<think>a</think>{\"k\":\"v\"",
        "```json\n{\"k\":\"v\",\"n\":1",
        "```json\n{\"k\":\"v\"\n```",
        "\u{feff}{\"k\":",
        "{\"n\":+1, \"k\":\"v",
        "{\"n\":0x1F, \"k\"",
        "{'k': 'v', 'l': [1, 2",
        "{“k”：“v”，",
        r#""{k: 'v', n: 1""#,
    ] {
        let (kind, told) = refused(given);
        assert_eq!(kind, "truncated", "{given}: {told}");
        assert!(told.contains("send it again, complete and"), "{told}");
    }
    let (_, told) = refused("{\"k\":\"say \"hi\" to\", \"n\": 1");
    assert!(told.contains("ends too early"), "{told}");
}

#[test]
fn what_python_means_and_json_has_not_is_named_with_its_place() {
    for (given, column, words) in [
        ("{'k': 1, 's': {'x', 'y'}}", 19, "a set of Python"),
        ("{'k': f'a{b}'}", 7, "`f'..'` is a string of Python"),
        ("{'k': b'x'}", 7, "`b'..'`"),
        ("{'n': 1, 'm': 1+1}", 16, "an expression is not evaluated"),
        ("{'k': '\\101'}", 8, "the escape `\\1`"),
        ("{'k': 'a\\N{BULLET}'}", 9, "the escape `\\N`"),
        ("{'k': 'a' 'b'}", 11, "side by side"),
        ("{'k': '''a'''}", 7, "triple quotes"),
        ("{'k': ('a')}", 11, "round brackets"),
        ("{'k': __import__('os').getcwd()}", 7, "nothing is evaluated"),
        ("{'k': datetime.now()}", 7, "nothing is evaluated"),
        ("{'k': 'v', 'n': 1_000}", 18, "only decimal digits"),
        ("{'k': 'v', 'n': 0x1F}", 18, "only decimal digits"),
        ("{'k': 2j}", 8, "only decimal digits"),
        ("{'k': [1, 2)}", 12, "`)` stands where `]` has to"),
        ("{'k': nan}", 7, "JSON has no nan"),
    ] {
        let told = refused(given).1;
        assert!(told.contains(words), "{given}: {told}");
        assert!(told.ends_with(&format!("(line 1, column {column})")), "{given}: {told}");
    }
}

#[test]
fn numbers_of_other_notations_are_refused_by_name() {
    for (given, words) in [
        ("{\"n\":+1}", "no leading `+`"),
        ("{\"n\":.5}", "a digit before its point"),
        ("{\"n\":5.}", "some before and after its point"),
        ("{\"n\":0x1F}", "only decimal digits"),
        ("{\"n\":1_000}", "only decimal digits"),
        ("{\"n\":10n}", "only decimal digits"),
        ("{\"n\":Infinity}", "no Infinity"),
        ("{\"n\":-Infinity}", "no Infinity"),
        ("{\"n\":NaN}", "no NaN"),
        ("{\"n\":007}", "must not start with 0"),
    ] {
        let (kind, told) = refused(given);
        assert_eq!(kind, "number", "{given}");
        assert!(told.contains(words), "{given}: {told}");
    }
}

#[test]
fn a_text_of_many_layers_costs_a_bounded_time() {
    let started = std::time::Instant::now();
    for given in [
        "<think></think>".repeat(70_000),
        "{/**/".repeat(100_000),
        format!("{{{}", "a ".repeat(500_000)),
        format!("{{{}", " # \n".repeat(250_000)),
        format!("{{“a”:[{}", "“a”, ".repeat(80_000)),
        "\u{200b}".repeat(340_000),
    ] {
        assert!(check(json!({"type": "object"}), &given).is_err());
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}

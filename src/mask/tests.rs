//! What is masked, and what is left alone.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// No cut.
const ALL: usize = usize::MAX;

/// Text that belongs to nobody, made here so that no scanner finds it in this file.
fn key(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", "aB3".repeat(length).get(..length).unwrap())
}

fn upper(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", "AB3".repeat(length).get(..length).unwrap())
}

fn private_key(kind: &str, between: &str) -> String {
    let dashes = "-".repeat(5);
    let body = format!("{}{between}{}", key("MII", 60), key("q", 30));
    format!(
        "{dashes}BEGIN {kind}PRIVATE KEY{dashes}{between}{body}{between}{dashes}END {kind}PRIVATE KEY{dashes}"
    )
}

fn check(text: &str, expected: &str) {
    let expected = expected.replace('@', MASK);
    assert_eq!(super::text(text), expected, "{text}");
    assert_eq!(super::text(&expected), expected, "masked twice: {text}");
}

/// `marked` has the sensitive pieces between `«` and `»`.
fn check_marked(marked: &str) {
    let mut expected = String::new();
    for (index, piece) in marked.split(['«', '»']).enumerate() {
        expected.push_str(if index % 2 == 0 { piece } else { MASK });
    }
    let text = marked.replace(['«', '»'], "");
    assert_eq!(super::text(&text), expected, "{text}");
}

fn survives(text: &str) {
    assert!(matches!(super::text(text), Cow::Borrowed(same) if same == text), "{text}");
}

#[test]
fn identity_numbers_are_masked_with_their_check_digit_and_date() {
    for marked in [
        "身份证«11010119000101009X»，已核",
        "身份证号：«11010119000101017x»",
        "id=«110101190001010014»;",
        "«110101 19000101 009X»",
        "«110101-19000101-009X» and more",
        "«110101 19000101 0014»",
        "number «11010119000101009-X».",
        "Ｉ «１１０１０１１９０００１０１００９Ｘ»",
        "user_«110101190001010014».png",
        "a,«110101190001010014»,b",
        "GET /people/«110101190001010014»/card",
    ] {
        check_marked(marked);
    }
    for text in [
        "110101190001010013 (wrong check digit)",
        "110101190013010014 (month 13)",
        "order 211010119000101009X7 (longer token)",
        "sha 1101011900010100144a2b",
        "1101011900010100140",
    ] {
        survives(text);
    }
}

#[test]
fn mobile_numbers_are_masked_in_their_spellings() {
    for marked in [
        "call «13800138000» now",
        "电话«13800138000»，谢谢",
        "«+8613800138000»",
        "«+86 138 0013 8000»",
        "«+86-138-0013-8000»",
        "(+86)«13800138000»",
        "«0086 13800138000»",
        "«008613800138000»",
        "«86 13800138000»",
        "«138-0013-8000»",
        "«138 0013 8000»",
        "«１３８００１３８０００»",
        "«138\u{200B}0013\u{200B}8000»",
        "«1\u{0303}3800138000»",
        "«𝟏𝟑𝟖𝟎𝟎𝟏𝟑𝟖𝟎𝟎𝟎»",
        "«138\u{3000}0013\u{3000}8000»",
        "«١٣٨٠٠١٣٨٠٠٠»",
        "«1 3 8 0 0 1 3 8 0 0 0»",
        "tel:«13800138000»",
        "to=%2B«8613800138000»&x=1",
        "q=%20«13800138000»",
        "two: «13800138000» «13900139000»",
        "one\\n«13800138000»\\n",
        "«13800138000».0",
        "«13800138000».pdf",
    ] {
        check_marked(marked);
    }
    for text in [
        "12800138000",
        "1380013800",
        "138001380001",
        "2024138001380001234",
        "PO13800138000",
        "13800138000th",
        "0.13800138000",
        "13 800 138 000 yuan",
        "138.001.380.00",
        "13800138-0001-4abc-8def-0123456789ab",
    ] {
        survives(text);
    }
}

#[test]
fn cards_are_masked_by_their_check_digit_issuer_and_groups() {
    for marked in [
        "卡号«6222020000000000018»，开户行",
        "«6222 0200 0000 0000 018»",
        "«4000-0000-0000-0002»",
        "«4000.0000.0000.0002»",
        "card: «4000000000000002».",
        "«4111 1111 1111 1111» 12/30, code 7",
        "«5555-5555-5555-4444»",
        "«3782 822463 10005»",
        "«30569309025904»",
        "«2223003122003222»",
        "«４１１１　１１１１　１１１１　１１１１»",
        "«4111 1111 1111 1111» «5555 5555 5555 4444»",
    ] {
        check_marked(marked);
    }
    for text in [
        "0.318309886183790",
        "4000000000000003 (fails Luhn)",
        "trace 8273645519283746 (passes Luhn, but no card begins with 82)",
        "6222020000000000019 (fails Luhn)",
        "uuid 40000000-0000-4002-8000-000000000000",
        "trace_4000000000000002",
        "span-4000000000000002-a",
        "4006381333931",
        "40 00000000 000002",
    ] {
        survives(text);
    }
}

#[test]
fn addresses_are_masked_and_what_only_has_an_at_sign_is_not() {
    for marked in [
        "«mei.lin@example.com» asked «bob@example.org»; «mei.lin@example.com» agreed.",
        "«ｍｅｉ．ｌｉｎ＠ｅｘａｍｐｌｅ．ｃｏｍ»",
        "«meilin＠example.com»",
        "请联系«meilin@example.com»。",
        "mailto:«a+b_c%d@mail.example.co.uk»?subject=x",
        "to=«meilin%40example.com»&x=1",
        "«jürgen@bücher.example»",
        "«13800138000@example.com»",
    ] {
        check_marked(marked);
    }
    for text in [
        "git@github.com:owner/repository.git",
        "npm i @scope/name@1.2.3 and name@1.0.0-rc1",
        "uses: actions/checkout@v4",
        "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "icon@2x.png",
        "root@localhost, @home, a@b",
    ] {
        survives(text);
    }
}

#[test]
fn keys_tokens_and_private_keys_are_masked_wholly_and_each_time() {
    let jwt = format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 30), key("s", 30));
    let secrets = [
        upper("AKIA", 16),
        upper("ASIA", 16),
        key("sk-", 40),
        key("sk-proj-", 40),
        key("sk-ant-api03-", 60),
        key("sk_live_", 30),
        key("rk_test_", 24),
        key("ghp_", 36),
        key("github_pat_", 40),
        key("glpat-", 20),
        key("xoxb-", 24),
        key("AIza", 35),
        key("npm_", 36),
        key("hf_", 34),
        key("LTAI", 20),
        key("GOCSPX-", 28),
        format!("{}.{}", key("SG.", 22), key("x", 40)),
        format!("1234567890:AA{}", key("", 33)),
        jwt.clone(),
        format!("{}.{}", key("eyJ", 20), key("eyJ", 30)),
        private_key("", "\n"),
        private_key("RSA ", "\r\n"),
        private_key("OPENSSH ", "\\n"),
    ];
    for secret in &secrets {
        for (before, after) in [
            ("", ""),
            ("use ", " here"),
            ("(", ")"),
            ("\"", "\""),
            ("x=", "&y=1"),
            ("%20", " z"),
            ("_", "\n"),
            ("the key is ", ". Then"),
            ("密钥", "。"),
        ] {
            let text = format!("{before}{secret}{after}");
            assert_eq!(super::text(&text), format!("{before}{MASK}{after}"), "{text}");
        }
        let thrice = format!("{secret} {secret}\n{secret}");
        assert_eq!(super::text(&thrice), format!("{MASK} {MASK}\n{MASK}"));
    }
    check(&format!("Authorization: Bearer {jwt}"), "Authorization: Bearer @");
    let cut = private_key("", "\n").split("-----END").next().unwrap().to_owned();
    check(&format!("a {cut}"), "a @");
}

#[test]
fn passwords_are_masked_in_urls_and_behind_their_names() {
    for marked in [
        "postgres://user:«hunter2»@db.example/x",
        "redis://:«p@ss»@localhost:6379/0",
        "amqp://a:«b»@h,amqp://c:«d»@i",
        "ftp://u:«a/b?c»@host",
        "https://h/login?user=a&password=«correcthorse»&x=1",
        "password=«hunter2»",
        "Password: «hunter2».",
        "dbPassword = '«correct horse»'",
        "DB_PASSWORD=«hunter2» ./run",
        "passwd:«Hunter!»",
        "client_secret=«abc», user=bob",
        "api_key: «k3yk3yk3y»",
        "API-Key = «abcdef»",
        "\\\"api_key\\\":\\\"«abc def»\\\"",
        "--token=«abc»",
        "access_token=«abc»&token_type=bearer",
        "Authorization: Basic «dXNlcjpwYXNz»",
        "authorization=«opaque»",
        "Bearer «abc123def456»",
        "Cookie: «session=abc; theme=dark»",
        "密码：«abc123»，谢谢",
        "口令是«Tr0ub4dor»",
    ] {
        check_marked(marked);
    }
    check(r#"{"password":"correct \"horse\"","n":1}"#, r#"{"password":"@","n":1}"#);
    for text in [
        "the words api key without a value",
        "apiKey: <put key here>",
        "password: required, at least 8 characters",
        "password=${DB_PASSWORD} token=$TOKEN secret={{ vault }}",
        r#"{"password":null,"secret":""}"#,
        "max_tokens=100 tokens: 7 next_token=abc",
        "PWD=/root/work",
        "bearer authentication and basic authentication",
        "a Bearer AuthenticationFilter",
        "cookie: chocolate",
        "http://host:8080/path@x and https://host/@user",
        "password=******** secret=[masked]",
        "`/password`: `/password` is missing: a string",
    ] {
        survives(text);
    }
}

#[test]
fn harmless_identifiers_are_left_alone() {
    for text in [
        "commit 5d41c0ffee1234567890abcdef0123456789abcd",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "01922941-1381-7411-8311-138001380001",
        "unix 1764410400 and 1764410400123 and 1764410400123456 and 1764410400123456789",
        "2026-11-30T02:59:23.123456Z 2026-11-30 02:59:23 20261130025923",
        "image tag 2.0.14.7",
        "PO7654321 for part Z98765",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "the second backup is redundant",
        "192.168.1.10 in a network diagram",
        "192.168.100.100:13800",
        "GB/T 22239-2019",
        "ISBN 9787302511625 and 978-7-302-51162-5",
        "快递单号 SF1234567890123",
        "车次 G1234 时间 08:15",
        "sk-learn and task-based words",
        "sk-fading-circle-of-many-small-dots",
        "git revert 0123456789012345678901234567890123456789",
        "全角文字：ＡＢＣ，１２３",
        "ﬁne print and ① ② ③",
        "cursor eyJpZCI6MTIzLCJkaXIiOiJuZXh0IiwibGltaXQiOjUwfQ==",
        "--- -- - a-b \u{0} é",
        "",
    ] {
        survives(text);
    }
}

#[test]
fn marks_of_schemas_and_names_mask_values_wherever_they_stand() {
    let schema = json!({ "type": "object", "properties": {
        "pin": { "type": "string", "x-sensitive": true },
        "old": { "type": "string", "writeOnly": true },
        "pins": { "type": "array", "items": { "type": "string", "format": "password" } },
        "code": { "$ref": "#/$defs/code" },
        "anchored": { "$ref": "#here" },
        "union": { "anyOf": [{ "type": "integer" }, { "allOf": [{ "$ref": "#/$defs/code" }] }] },
        "pair": { "prefixItems": [{}, { "x-sensitive": true }], "items": {} },
        "map": { "type": "object", "additionalProperties": { "x-sensitive": true } },
        "by": { "patternProperties": { "^k": { "x-sensitive": true } } },
        "users": { "type": "array", "items": { "type": "object", "properties": {
            "ssn": { "type": "integer", "x-sensitive": true }, "name": { "type": "string" } } } },
        "whole": { "x-sensitive": true, "type": "object" },
        "plain": { "x-sensitive": false, "type": "string" },
        "meant": { "x-sensitive": "yes" },
        "parent": { "$ref": "#" },
    }, "$defs": { "code": { "type": "string", "x-sensitive": true },
        "other": { "$anchor": "here", "x-sensitive": true } } });
    let marks = Marks::of(&schema);
    let aliases = [("p".to_owned(), "pin".to_owned())].into();
    let masker = Masker::new(&schema, &marks).with_aliases(&aliases);
    let arguments = r#"{"pin":"1","p":"2","old":true,"pins":["8",null],"code":"3","anchored":"4","n":1.50,
        "union":5,"pair":["a","b","c"],"map":{"x":"6"},"by":{"k":1},"users":[{"ssn":4,"name":"x"}],
        "whole":{"a":[1]},"plain":"seen","meant":7,"parent":{"pin":"8","parent":{"code":"9"}},
        "Pin":"misspelt","arguments":{"pin":"10","input":"{\"pin\":\"11\",\"n\":1}"},
        "api_key":"5","dbPassword":"6","tokens":7,"Authorization":{"a":1},"13800138000":"tel"}"#;
    let expected = r#"{"pin":"@","p":"@","old":"@","pins":["@",null],"code":"@","anchored":"@","n":1.50,
        "union":"@","pair":["a","@","c"],"map":{"x":"@"},"by":{"k":"@"},"users":[{"ssn":"@","name":"x"}],
        "whole":"@","plain":"seen","meant":"@","parent":{"pin":"@","parent":{"code":"@"}},
        "Pin":"@","arguments":{"pin":"@","input":"{\"pin\":\"@\",\"n\":1}"},
        "api_key":"@","dbPassword":"@","tokens":7,"Authorization":"@","@":"tel"}"#
        .replace('@', MASK);
    let masked: Value = serde_json::from_str(&masker.json(arguments, ALL)).unwrap();
    assert_eq!(masked, serde_json::from_str::<Value>(&expected).unwrap());
    let again = masker.json(&masked.to_string(), ALL);
    assert_eq!(again, masked.to_string(), "masked twice");

    for (pointer, secret) in [
        ("/pin", true),
        ("/p", true),
        ("/users/0/ssn", true),
        ("/users/0/name", false),
        ("/whole/a/0", true),
        ("/pair/1", true),
        ("/pair/0", false),
        ("/elsewhere/password", true),
    ] {
        assert_eq!(masker.is_secret_at(pointer), secret, "{pointer}");
    }
    assert_eq!(masker.at("/pin", "\"1\""), format!("\"{MASK}\""));
    assert_eq!(masker.at("/users/0/name", "\"x\""), "\"x\"");
    assert_eq!(masker.at("/users", r#"[{"ssn":1}]"#), format!(r#"[{{"ssn":"{MASK}"}}]"#));
    assert_eq!(masker.at("", r#"{"pin":"cut o…"#), format!("\"{MASK}\""));
    assert_eq!(masker.json(r#"{"pin": "884"#, ALL), MASK, "broken JSON may hold anything");

    let whole = json!({ "type": "object", "x-sensitive": true });
    let marks = Marks::of(&whole);
    assert_eq!(Masker::new(&whole, &marks).json(r#"{"a":1}"#, ALL), format!("\"{MASK}\""));
}

#[test]
fn schema_without_marks_costs_nothing_and_masks_nothing() {
    let schema = json!({ "properties": { "pin": { "$ref": "https://elsewhere.example/pin" } } });
    let marks = Marks::of(&schema);
    assert!(!marks.is_some());
    assert_eq!(Masker::new(&schema, &marks).json(r#"{"pin":"1"}"#, ALL), r#"{"pin":"1"}"#);
}

#[test]
fn marked_places_of_a_value_are_told_once_for_all_items() {
    let schema = json!({ "type": "object", "properties": {
        "rows": { "items": { "properties": { "ssn": { "x-sensitive": true }, "n": {} } } },
        "map": { "additionalProperties": { "x-sensitive": true } },
        "a/b": { "x-sensitive": true },
        "gone": { "x-sensitive": true },
    } });
    let marks = Marks::of(&schema);
    let masker = Masker::new(&schema, &marks);
    let mut value = json!({
        "rows": [{ "ssn": 1, "n": 2 }, { "ssn": 3, "n": 4 }], "map": { "x": 1, "y": 2 }, "a/b": 5,
    });
    let places = masker.marked(&value, "/data").unwrap();
    assert_eq!(places, ["/data/rows/*/ssn", "/data/map/*", "/data/a~1b"]);
    let mut reply = json!({ "data": value.take() });
    cover(&mut reply, places.iter().map(String::as_str));
    let expected = json!({ "data": {
        "rows": [{ "ssn": MASK, "n": 2 }, { "ssn": MASK, "n": 4 }],
        "map": { "x": MASK, "y": MASK }, "a/b": MASK,
    } });
    assert_eq!(reply, expected);
}

#[test]
fn known_secrets_are_found_wherever_they_are_repeated() {
    let long = "x".repeat(80) + "tail";
    let secrets = Secrets::new(vec!["hunter22".into(), "884".into(), "a \"b\" c".into(), long]);
    assert_eq!(
        secrets.mask("`/pin` must be at most 884, but is the string `884` or hunter22"),
        format!("`/pin` must be at most 884, but is the string `{MASK}` or {MASK}")
    );
    assert_eq!(secrets.mask(r#"from "a \"b\" c""#), format!(r#"from "{MASK}""#));
    let cut = format!("is the string `{}…`, which", "x".repeat(60));
    assert_eq!(secrets.mask(&cut), format!("is the string `{MASK}`, which"));
    let value = json!({ "a": ["no", "is hunter22!"], "b/c": "hunter22", "n": 884, "d": "x8841" });
    assert_eq!(secrets.places(&value).unwrap(), ["/a/1", "/b~1c"]);
    assert!(secrets.places(&json!(vec!["hunter22"; 100])).is_none(), "too many to tell");
    let many = json!({ "password": (0..99).map(|n| format!("{n}")).collect::<Vec<_>>() });
    let many = Masker::default().secrets(&many.to_string());
    assert!(many.places(&json!("any")).is_none() && !many.is_empty(), "too many to look for");
    assert_eq!(many.mask("any message"), MASK);
    assert_eq!(
        Masker::default().secrets(r#"{"password":"a1"}"#).mask("is `a1`"),
        format!("is `{MASK}`")
    );
}

#[test]
fn spelling_is_kept_unless_it_hides_something() {
    let masker = Masker::default();
    for text in ["{ \"a\" : 1.0, \"b\": \"x \\\" y\\\\\", \"c\": [ ] }", "not json 12", ""] {
        assert_eq!(masker.json(text, ALL), text);
    }
    let hidden = r#"{"a":{"password":"x"},"a":1}"#;
    assert_eq!(masker.json(hidden, ALL), r#"{"a":1}"#);
    assert_eq!(masker.json("call 13800138000, broken", ALL), "call [masked], broken");
    assert_eq!(masker.json("[13800138000, 5]", ALL), r#"["[masked]",5]"#);
    let names = r#"{"13800138000":1,"13900139000":2}"#;
    assert_eq!(masker.json(names, ALL), r#"{"[masked]":1,"[masked] 2":2}"#);
}

#[test]
fn secrets_at_the_cut_are_masked_as_a_whole() {
    let secret = key("sk-", 40);
    for keep in 1..60 {
        for before in [0, 1, 20, 50] {
            let text = format!("{}{secret} and more", "é ".repeat(before));
            let whole = super::text(&text).into_owned();
            let json = Value::String(text.clone()).to_string();
            for (masked, whole) in [
                (Masker::default().json(&text, keep), whole.clone()),
                (Masker::default().json(&json, keep), Value::String(whole).to_string()),
            ] {
                let kept = keep.min(whole.len());
                assert_eq!(masked.as_bytes().get(..kept), whole.as_bytes().get(..kept), "{masked}");
            }
        }
    }
    let inner = json!({ "password": "abc", "n": [1, 2] }).to_string();
    let arguments = json!({ "a": "x".repeat(90), "b": ["y".repeat(9), { "c": 1 }], "d": secret,
        "e": inner, "f": "{\"n\": [1,  2]}", "g": "{\"n\": [1,  2]}", "h": "end" });
    let text = arguments.to_string();
    let whole = Masker::default().json(&text, ALL);
    for keep in 1..whole.len() {
        let masked = Masker::default().json(&text, keep);
        assert_eq!(masked.get(..keep), whole.get(..keep), "{keep}");
    }
}

#[test]
fn cost_grows_with_the_length_and_no_faster() {
    const BYTES: usize = 64 << 10;
    for piece in [
        "a-",
        "1-",
        "-",
        "a.",
        "1 ",
        "1.",
        "sk-",
        "sk_",
        "-----BEGIN ",
        "eyJ.",
        ".",
        "a@",
        "a@b.",
        "@",
        "x://a:",
        "x://a:b@",
        "secret:",
        "secret: ",
        "password=",
        "token=a ",
        "１",
        "１ ",
        "138 0013 ",
        "密码：",
        "\u{200b}1",
        "[masked]",
        "{\"",
        "authorization: ",
        "bearer ",
        "cookie:a=b ",
        "-----BEGIN PRIVATE KEY-----",
        "AKIA",
        "1a",
        "%20",
        "x://a:8/",
    ] {
        let spent = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let started = Instant::now();
            super::text(&text);
            started.elapsed()
        };
        let (short, long) = (spent(BYTES), spent(4 * BYTES));
        let slack = Duration::from_millis(400);
        assert!(long < short * 12 + slack, "{piece}: {short:?} and then {long:?}");
    }
}

proptest! {
    #[test]
    fn masking_twice_is_masking_once(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "13800138000", "110101190001010014", "4111 1111 1111 1111", "a@b.example", "+86", "-", ".",
                " ", "_", "x", "X", "password=", "token: ", "Bearer abc123def456", "://u:p@h", "[masked]",
                "１３８", "0013", "8000", "\u{200b}", "，", "密码：", "\"", "\\", "sk-", "eyJ", "=", "@", "%20",
                "AKIAAB3AB3AB3AB3AB3A", "\n", "Ａ", "9", "postgres", "{", "}", "secret",
            ]),
            0..24,
        ),
    ) {
        let text = pieces.concat();
        let once = super::text(&text).into_owned();
        prop_assert_eq!(&*super::text(&once), &*once);
    }

    #[test]
    fn text_without_marks_stays_byte_for_byte(
        // Neither a digit nor a letter of a name, nor anything that looks like one.
        text in "[bfglmnruvwyzBFGLMNRUVWYZ \\n\\t\"'{}\\[\\]:;,.!?~^&()*/\\\\|<>=+é中文字：，。！①ﬁ\u{200b}-]{0,200}",
    ) {
        prop_assert!(matches!(super::text(&text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn any_text_is_masked_without_a_fault(text in any::<String>(), keep in 0_usize..64) {
        super::text(&text);
        let _any = Masker::default().json(&text, keep);
    }

    #[test]
    fn number_is_masked_between_anything_that_is_no_part_of_it(
        before in "[ \\n,;:/(=，。：中]{0,3}", after in "[ \\n,;:/)，。：中]{0,3}",
    ) {
        for number in ["13800138000", "110101190001010014", "4000000000000002"] {
            let text = format!("{before}{number}{after}");
            prop_assert_eq!(super::text(&text), format!("{before}{MASK}{after}"));
        }
    }
}

//! What is masked, and what is left alone.

mod laws;
mod tree;

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

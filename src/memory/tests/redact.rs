//! What is taken out of a unit, and what stays.

use crate::memory::redact::{Kind, Names, Redacted, Rules, field, redact};

/// `marked` has the values between `«` and `»`; each is gone, and all around them is as it was.
fn check(marked: &str, kind: Kind) {
    let text = marked.replace(['«', '»'], "");
    let redacted = redact(&text, &Rules::default(), &mut Names::default());
    let mut expected = String::new();
    let mut given = redacted.found.iter();
    for (index, piece) in marked.split(['«', '»']).enumerate() {
        match index % 2 {
            0 => expected.push_str(piece),
            _ => {
                let found = given.next().unwrap_or_else(|| panic!("`{piece}` of `{text}` stays"));
                assert_eq!(
                    (found.kind, text.get(found.range.clone()).unwrap()),
                    (kind, piece),
                    "{text}"
                );
                expected.push_str(&found.placeholder);
            }
        }
    }
    assert_eq!(redacted.text, expected);
    assert_eq!(given.next(), None, "{text}");
    let again = redact(&redacted.text, &Rules::default(), &mut Names::default());
    assert_eq!(again, Redacted { text: redacted.text, found: Vec::new() }, "redacted twice");
}

fn survives(text: &str) {
    let redacted = redact(text, &Rules::default(), &mut Names::default());
    assert_eq!(redacted, Redacted { text: text.to_owned(), found: Vec::new() });
}

/// A text that belongs to nobody, made here so that no scanner finds it in this file.
fn key(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", "aB3".repeat(length).get(..length).unwrap())
}

#[test]
fn numbers_of_people_leave_the_text_around_them_as_it_was() {
    for marked in [
        "客户的身份证«11010119000101009X»已经核对",
        "身份证号：«11010119000101017x»",
        "证件 «110101 19000101 009X»，复印件在柜里",
        "Ｉ «１１０１０１１９０００１０１００９Ｘ»",
        "旧身份证号«110101900101001»",
    ] {
        check(marked, Kind::Identity);
    }
    for marked in [
        "卡号«6222020000000000018»，开户行",
        "«6222 0200 0000 0000 018»",
        "«4000.0000.0000.0002»",
        "card: «4000000000000002».",
    ] {
        check(marked, Kind::Card);
    }
    for marked in ["问«mei.lin@example.com»吧", "«ｍｅｉ．ｌｉｎ＠ｅｘａｍｐｌｅ．ｃｏｍ»"]
    {
        check(marked, Kind::Mail);
    }
    for text in [
        "110101190001010013 (wrong check digit)",
        "batch 110101900101001 without a word for it",
        "trace 8273645519283746",
        "uuid 40000000-0000-4002-8000-000000000000",
        "全角文字：ＡＢＣ，１２３",
        "ﬁne print and ① ② ③",
        "family \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} keycap 1\u{fe0f}\u{20e3}",
        "Scotland \u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "می\u{200c}روم क\u{94d}\u{200d}ष",
    ] {
        survives(text);
    }
}

#[test]
fn telephone_numbers_are_found_in_the_spellings_of_many_countries() {
    for marked in [
        "打«13800138000»",
        "«138\u{200B}0013\u{200B}8000»",
        "«1\u{303}3800138000»",
        "«+86 138 0013 8000»",
        "办公室«010-62345678»，值班«0755-83765566-8001»",
        "总机(«0571)88888888»",
        "总机«（0571）8888 8888»",
        "«021-6234 5678»",
        "«0512-6288 1234转802»",
        "电话：«02162345678»",
        "座机 «0755 8376 5566»",
        "«+1 415 555 2671»",
        "«+1 (415) 555-2671»",
        "«(415) 555-2671»",
        "call «415-555-2671» today",
        "Phone: «1-415-555-2671»",
        "«+44 20 7946 0958»",
        "«+44 (0)20 7946 0958» or later",
        "«+852 6123 4567» 2 people",
        "«+81-3-1234-5678»",
        "«+49 30 123456»",
        "«+86-755-8376-5566»",
        "«+33 1 23 45 67 89»",
        "tel:«+14155552671»",
        "to=%2B«14155552671»&x",
        "tel «0044 20 7946 0958»",
        "＋«４４ ２０ ７９４６ ０９５８»",
    ] {
        let marked = marked.replace("＋«", "«＋").replace("(«0571)", "«(0571)");
        check(&marked, Kind::Phone);
    }
    for text in [
        "2026-03-01T17:00:00+0800 and UTC+08:00",
        "part 415-555-2671",
        "document 020-20260301",
        "a +1234567890 diff, x+14155552671y",
        "range 010-62 and 0755-8376",
        "GB/T 0755-2019, 12-0755-83765566",
        "version 0310.12345678",
        "1+1 = 2, +5 °C, +12345",
        "lot 0311-1234567-A7",
        "f(415) 555-2671x",
        "serial 02162345678",
        "0.02-62345678",
    ] {
        survives(text);
    }
}

#[test]
fn secrets_leave_no_tail_and_all_of_them_go() {
    let jwt = format!("{}.{}.{}", key("eyJ", 20), key("eyJ", 30), key("s", 30));
    let dashes = "-".repeat(5);
    let block = format!(
        "{dashes}BEGIN PRIVATE KEY{dashes}\n{}\n{dashes}END PRIVATE KEY{dashes}",
        key("MII", 60)
    );
    for secret in [
        key("AKIA", 16).to_uppercase(),
        key("sk-proj-", 40),
        key("sk_live_", 30),
        key("ghp_", 36),
        jwt,
        block,
    ] {
        for (before, after) in
            [("", ""), ("%20", " z"), ("_", "\n"), ("the key is ", ". Then"), ("密钥", "。")]
        {
            check(&format!("{before}«{secret}»{after}"), Kind::Secret);
        }
        let text = format!("{secret} {secret}\n{secret}");
        let redacted = redact(&text, &Rules::default(), &mut Names::default());
        assert_eq!(redacted.text, "[SECRET_1] [SECRET_1]\n[SECRET_1]");
    }
    check("postgres://user:«pw»@host/db", Kind::Secret);
    check("Authorization: Bearer «abc123def456»", Kind::Secret);
    check("https://h/login?password=«correcthorse»&x=1", Kind::Secret);
    for text in [
        "sk-learn and task-based words",
        "git revert 0123456789012345678901234567890123456789",
        "the words api key without a value",
        "apiKey: <put key here>",
    ] {
        survives(text);
    }
}

#[test]
fn identifiers_of_things_stay() {
    for text in [
        "commit 5d41c0ffee1234567890abcdef0123456789abcd",
        "uuid 550e8400-e29b-41d4-a716-446655440000",
        "unix 1764410400 and 1764410400123",
        "image tag 2.0.14.7",
        "PO7654321 for part Z98765",
        "the second backup is redundant",
        "192.168.1.10 in a network diagram",
        "GB/T 22239-2019",
        "ISBN 9787302511625",
        "快递单号 SF1234567890123",
        "车次 G1234 时间 08:15",
    ] {
        survives(text);
    }
}

#[test]
fn addresses_of_hosts_and_parcels_go_only_where_the_rules_say_so() {
    let rules = Rules::of(&[Kind::Ip, Kind::Tracking]);
    for (text, expected) in [
        ("ping 192.168.1.10.", "ping [IP_1]."),
        ("http://10.0.0.7:8080/x", "http://[IP_1]:8080/x"),
        ("fe80::1 and 2001:db8::7, not 12:30:45", "[IP_1] and [IP_2], not 12:30:45"),
        ("快递单号 SF1234567890123，到了", "快递单号 [TRACKING_1]，到了"),
        ("tracking number 123456789012 is lost", "tracking number [TRACKING_1] is lost"),
        ("13800138000 and a@b.example", "13800138000 and a@b.example"),
        ("999.1.1.1 and v1.2.3", "999.1.1.1 and v1.2.3"),
    ] {
        assert_eq!(redact(text, &rules, &mut Names::default()).text, expected);
    }
}

#[test]
fn each_rule_works_without_the_others() {
    let text = "password=mei@example.com 13800138000";
    let only = |kind| redact(text, &Rules::of(&[kind]), &mut Names::default()).text;
    assert_eq!(only(Kind::Mail), "password=[MAIL_1] 13800138000");
    assert_eq!(only(Kind::Secret), "password=[SECRET_1] 13800138000");
    assert_eq!(only(Kind::Phone), "password=mei@example.com [PHONE_1]");
    assert_eq!(redact(text, &Rules::of(&[]), &mut Names::default()).text, text);
}

#[test]
fn rules_are_a_list_of_names() {
    #[derive(serde::Deserialize)]
    struct Collection {
        #[serde(default)]
        redact: Rules,
    }
    let read = |text: &str| toml::from_str::<Collection>(text).map(|own| own.redact);
    assert_eq!(read("").unwrap(), Rules::USUAL);
    let usual = r#"redact = ["identity", "phone", "card", "mail", "secret"]"#;
    assert_eq!(read(usual).unwrap(), Rules::USUAL);
    assert_eq!(
        read(r#"redact = ["ip", "tracking"]"#).unwrap(),
        Rules::of(&[Kind::Ip, Kind::Tracking])
    );
    assert_eq!(read("redact = []").unwrap(), Rules::of(&[]));
    let wrong = read(r#"redact = ["phones"]"#).unwrap_err().to_string();
    assert!(wrong.contains("phones") && wrong.contains("identity"), "{wrong}");
    let list = serde_json::to_string(&Rules::USUAL).unwrap();
    assert_eq!(list, r#"["identity","phone","card","mail","secret"]"#);
}

#[test]
fn placeholders_tell_people_apart_over_all_texts_of_a_unit() {
    let mut names = Names::default();
    let mut redact = |text: &str| redact(text, &Rules::default(), &mut names).text;
    assert_eq!(
        redact("alice@example.com asked bob@example.org; Alice@Example.com agreed."),
        "[MAIL_1] asked [MAIL_2]; [MAIL_1] agreed."
    );
    assert_eq!(redact("ａｌｉｃｅ＠example.com, 13800138000"), "[MAIL_1], [PHONE_1]");
    assert_eq!(
        redact("+86 138 0013 8000 or 138-0013-8000 or 13900139000"),
        "[PHONE_1] or [PHONE_1] or [PHONE_2]"
    );
    assert_eq!(redact("010-62345678, +86 10 6234 5678"), "[PHONE_3], [PHONE_3]");
    assert_eq!(redact("mail bob@example.org again"), "mail [MAIL_2] again");
    let shown = format!("{names:?}");
    assert!(!shown.contains("alice") && !shown.contains("138"), "{shown}");
}

#[test]
fn what_only_looks_like_a_placeholder_stays_another_one() {
    let texts = ["a@b.example wrote", "see [MAIL_1] and [mail_2], not [MAIL_] or [MAIL]"];
    let mut names = Names::of(texts);
    let redacted = texts.map(|text| redact(text, &Rules::default(), &mut names).text);
    assert_eq!(redacted, ["[MAIL_3] wrote", texts[1]]);
    // Without the other texts told before, the own one still counts.
    let text = "[PHONE_1] is not 13800138000";
    let redacted = redact(text, &Rules::default(), &mut Names::default()).text;
    assert_eq!(redacted, "[PHONE_1] is not [PHONE_2]");
}

#[test]
fn keyed_placeholders_are_the_same_in_every_unit_of_a_tenant_only() {
    let name = |key: &[u8], text: &str| {
        redact(text, &Rules::default(), &mut Names::of([text]).keyed(key)).text
    };
    let one = name(b"tenant one", "a@b.example");
    assert_eq!(one, name(b"tenant one", "A@B.example"));
    assert_ne!(one, name(b"tenant one", "c@b.example"));
    assert_ne!(one, name(b"tenant two", "a@b.example"));
    assert!(one.starts_with("[MAIL_") && one.len() == "[MAIL_]".len() + 12, "{one}");
    // Who has seen the name and writes it down does not become the person.
    let forged = name(b"tenant one", &format!("{one} and a@b.example"));
    let (literal, own) = forged.split_once(" and ").unwrap();
    assert_eq!(literal, one);
    assert_ne!(own, one);
}

#[test]
fn value_under_a_secret_name_goes_whole() {
    let mut names = Names::default();
    let mut field = |name: &str, text: &str| field(name, text, &Rules::default(), &mut names).text;
    assert_eq!(field("db_password", "correct horse"), "[SECRET_1]");
    assert_eq!(field("Password", "correct horse"), "[SECRET_1]");
    assert_eq!(field("password", "[SECRET_1]"), "[SECRET_1]");
    assert_eq!(field("owner", "a@b.example"), "[MAIL_1]");
    assert_eq!(field("token_count", "correct horse"), "correct horse");
}

#[test]
fn placeholder_announces_no_number_behind_it() {
    let text = "+44 20 7946 0958+44 20 7946 09581380013(";
    let redacted = redact(text, &Rules::default(), &mut Names::default()).text;
    assert_eq!(redacted, "[PHONE_1]+44 20 7946 09581380013(");
    let again = redact(&redacted, &Rules::default(), &mut Names::default()).text;
    assert_eq!(again, redacted);
    for text in ["[PHONE_1] 02162345678", "[phone_3f9a0c7b21de] 02162345678"] {
        assert!(redact(text, &Rules::default(), &mut Names::default()).found.is_empty(), "{text}");
    }
    for text in ["phone_1] 02162345678", "[phone] 02162345678", "[phone_] 02162345678"] {
        assert!(!redact(text, &Rules::default(), &mut Names::default()).found.is_empty(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn only_what_was_found_changes(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "13800138000", "110101190001010014", "4111 1111 1111 1111", "a@b.example", "+44 20 7946 0958",
                " ", "-", ".", "，", "[PHONE_1]", "[", "]", "_", "password=", "://u:p@h", "１３８", "0013",
                "8000", "\u{200b}", "é", "010-62345678", "(", ")", "0", "+", "\n", "x", "[masked]",
            ]),
            0..24,
        ),
    ) {
        let text = pieces.concat();
        let redacted = redact(&text, &Rules::default(), &mut Names::default());
        let (mut rebuilt, mut done) = (String::new(), 0);
        for found in &redacted.found {
            proptest::prop_assert!(found.range.start >= done && found.range.end <= text.len());
            rebuilt.push_str(text.get(done..found.range.start).unwrap());
            rebuilt.push_str(&found.placeholder);
            done = found.range.end;
        }
        rebuilt.push_str(text.get(done..).unwrap());
        proptest::prop_assert_eq!(&rebuilt, &redacted.text);
        // Logs hide the same, and what is redacted has nothing left to hide.
        let masked = crate::mask::text(&text);
        proptest::prop_assert_eq!(masked == text.as_str(), redacted.found.is_empty());
        let again = redact(&redacted.text, &Rules::default(), &mut Names::default());
        proptest::prop_assert_eq!(again.text, redacted.text);
    }

    #[test]
    fn any_text_is_redacted_without_a_fault(text in proptest::prelude::any::<String>()) {
        redact(&text, &Rules::of(&Kind::ALL), &mut Names::default());
    }
}

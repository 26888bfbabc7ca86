//! What holds for any text.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::mask::{MASK, Masker};

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
            crate::mask::text(&text);
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
        let once = crate::mask::text(&text).into_owned();
        prop_assert_eq!(&*crate::mask::text(&once), &*once);
    }

    #[test]
    fn text_without_marks_stays_byte_for_byte(
        // Neither a digit nor a letter of a name, nor anything that looks like one.
        text in "[bfglmnruvwyzBFGLMNRUVWYZ \\n\\t\"'{}\\[\\]:;,.!?~^&()*/\\\\|<>=+é中文字：，。！①ﬁ\u{200b}-]{0,200}",
    ) {
        prop_assert!(matches!(crate::mask::text(&text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn any_text_is_masked_without_a_fault(text in any::<String>(), keep in 0_usize..64) {
        crate::mask::text(&text);
        let _any = Masker::default().json(&text, keep);
    }

    #[test]
    fn number_is_masked_between_anything_that_is_no_part_of_it(
        before in "[ \\n,;:/(=，。：中]{0,3}", after in "[ \\n,;:/)，。：中]{0,3}",
    ) {
        for number in ["13800138000", "110101190001010014", "4000000000000002"] {
            let text = format!("{before}{number}{after}");
            prop_assert_eq!(crate::mask::text(&text), format!("{before}{MASK}{after}"));
        }
    }
}

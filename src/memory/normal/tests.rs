//! Questions in two wordings that are one, and others that are not.

use super::{normal, words};

#[test]
fn polite_and_grammatical_words_make_no_other_question() {
    for (one, other) in [
        ("How do I replace the filter of a PX-200?", "please tell me how to replace PX-200 filter"),
        ("Could you please tell me the torque of M8 bolts?", "torque M8 bolts"),
        ("请问如何更换滤芯？", "怎么更换滤芯"),
        ("麻烦帮我查一下，怎么更换滤芯呢", "更换滤芯"),
        ("ＰＸ－２００的扭矩是多少", "px-200的扭矩有多少？"),
    ] {
        let terms = |text: &str| {
            let normal = normal(text);
            let mut terms: Vec<String> = normal.split(' ').map(ToOwned::to_owned).collect();
            terms.sort();
            terms
        };
        assert_eq!(terms(one), terms(other), "{one} / {other}");
    }
}

#[test]
fn another_intent_is_another_question() {
    for (one, other) in [
        ("When was the pump replaced?", "Why was the pump replaced?"),
        ("where is the valve", "who is the valve"),
        ("什么时候更换滤芯", "为什么更换滤芯"),
        ("仓库在哪里", "仓库有多少"),
    ] {
        assert_ne!(normal(one), normal(other), "{one} / {other}");
    }
}

#[test]
fn what_is_left_of_a_question_is_never_nothing() {
    assert_eq!(normal("what is it?"), "what is it?");
    assert_eq!(words("Who are you"), "who are you");
    assert_eq!(normal(""), "");
    assert_eq!(words("  "), "");
}

#[test]
fn signs_that_belong_to_a_word_stay() {
    for text in ["c++", "key:val", "km/h", "$next", "a%_b", "(rust", "near(", "\"ok", "*", "%"] {
        assert_eq!(words(text), text);
    }
}

#[test]
fn question_words_leave_a_gap_in_chinese() {
    assert_eq!(words("昨天迁移为什么回滚"), "昨天迁移 回滚");
    assert_eq!(words("压力测试完成情况如何"), "压力测试完成情况");
    assert_eq!(words("请问数据库迁移状态怎么样？"), "数据库迁移状态");
}

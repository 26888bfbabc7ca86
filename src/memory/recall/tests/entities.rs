//! Names and numbers in questions.

use super::super::entity::entities;
use crate::memory::Entity;

fn values(text: &str) -> Vec<String> {
    entities(text, &[]).into_iter().map(|one| one.value).collect()
}

#[test]
fn numbers_of_the_business_are_found_by_their_shape() {
    assert_eq!(values("PX-200的扭矩是多少"), ["PX-200"]);
    assert_eq!(values("Which batch does B2024-031 belong to?"), ["B2024-031"]);
    assert_eq!(values("合同HT/2023/0456何时到期"), ["HT/2023/0456"]);
    assert_eq!(values("ＰＸ－２００"), ["PX-200"]);
    assert_eq!(values("order 4500123987 and order 4500123987"), ["4500123987"]);
}

#[test]
fn names_in_quotes_are_found_whole() {
    assert_eq!(values("谁负责“蓝湖项目”"), ["蓝湖项目"]);
    assert_eq!(values("who owns \"Blue Lake\" and 「北站」"), ["Blue Lake", "北站"]);
    assert_eq!(values("an \"open quote stays harmless"), Vec::<String>::new());
}

#[test]
fn dates_measures_and_versions_are_no_names() {
    for text in
        ["since 2024-03-15", "2024/3", "45Nm or 7.5kW", "version 1.2.3", "at 9:30", "in 2025"]
    {
        assert_eq!(values(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn given_entities_come_first_and_once() {
    let given = Entity { kind: "part".to_owned(), value: "px-200".to_owned() };
    assert_eq!(entities("torque of PX-200", std::slice::from_ref(&given)), [given]);
}

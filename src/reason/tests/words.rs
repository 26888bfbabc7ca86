//! What is read of texts: languages, facts of a result.

use serde_json::json;

use crate::reason::observe::facts;
use crate::reason::tongue::foreign;

#[test]
fn another_script_is_noticed_and_names_are_not() {
    let chinese = "这批货物有没有同样的投诉？";
    assert!(foreign(chinese, "Yes, there were three complaints about this batch [E1]"));
    assert!(!foreign(chinese, "有三起投诉 [E1]"));
    assert!(!foreign(chinese, "PX-200"));
    let english = "Were there complaints about this batch?";
    assert!(foreign(
        english,
        "是的，这批货物有三起投诉，都是关于包装破损的问题，请参考下列的案例说明 [E1]"
    ));
    assert!(!foreign(english, "Yes, 三起 of them [E1]"));
    assert!(!foreign("12 + 7?", "nineteen, by all that is known of numbers"));
}

#[test]
fn facts_have_names_places_and_exact_spellings() {
    let data =
        json!({ "amount": 15000.10, "lines": [{ "sku": "a" }, { "sku": "b" }], "none": null });
    let found = facts(&data);
    let told: Vec<_> =
        found.iter().map(|f| (f.name.as_str(), f.value.as_str(), f.pointer.as_str())).collect();
    let wanted = [
        ("amount", "15000.1", "/amount"),
        ("lines.0.sku", "a", "/lines/0/sku"),
        ("lines.1.sku", "b", "/lines/1/sku"),
    ];
    assert_eq!(told, wanted);
}

//! What is filled into an answer, and a line there and back.

use serde_json::json;

use super::*;

const TOLD: &str = "labels: E1, E2. evidence=E1 layer=curated the gland bolts take 22 N·m of E9\n\
    {\"evidence\":\"E2\",\"data\":\"order ORD-10036 is packed, ORD-10037 too\"}\n{\"evidence\":[\"E12\"]} last";

#[test]
fn braces_are_filled_from_what_the_model_was_told() {
    let value = json!({ "answer": "{{found:take (\\d+ N·m)}}!", "evidence": ["{{cite:22 N·m}}", "{{cite:packed}}", "{{cite:last}}"], "n": 1 });
    let filled = fill(&value, TOLD).unwrap();
    assert_eq!(filled, json!({ "answer": "22 N·m!", "evidence": ["E1", "E2", "E12"], "n": 1 }));
    let near = fill(
        &json!("{{label:packed}} {{behind:22 N·m}} {{pack:by orders}}"),
        &format!("{TOLD} P1-a {{P2}} by orders P3"),
    );
    assert_eq!(near.unwrap(), json!("E2 E9 P2"));
    let last = fill(&json!("{{found:ORD-\\d{5}}}"), TOLD).unwrap();
    assert_eq!(last, json!("ORD-10037"));
}

#[test]
fn what_cannot_be_filled_is_said() {
    for (text, part) in [
        ("{{cite:95 N·m}}", "95 N·m"),
        ("{{found:(x)}}", "not found"),
        ("{{found:(}}", "regex"),
        ("{{cite:22 N·m", "has no"),
        ("{{other:x}}", "none of"),
        ("{{label:labels}}", "no label"),
        ("{{behind: last}}", "no label"),
        ("{{pack:nowhere}}", "no label"),
    ] {
        let why = fill(&json!(text), TOLD).unwrap_err();
        assert!(why.contains(part), "{text}: {why}");
    }
    // A label that stands behind its text is not its label.
    assert!(fill(&json!("{{cite:labels}}"), TOLD).is_err());
}

#[test]
fn a_recorded_line_is_read_as_it_was_written() {
    let line = Line {
        case: "n".into(),
        turn: 1,
        after: Some(vec![Made { tool: "getOrder".into(), arguments: json!({ "order_id": "x" }) }]),
        text: "yes".into(),
        ..Line::default()
    };
    let text = serde_json::to_string(&line).unwrap();
    assert!(
        !text.contains("sees") && !text.contains("times") && !text.contains("\"as\""),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
}

//! What a ledger keeps and shows of sensitive values: in arguments, repairs, messages and results.

use serde_json::Value;

use super::*;
use crate::mask::MASK;
use crate::schema::Violation;

/// A tool whose input and output have marked parts.
fn marked() -> Record {
    let mut tool = (*crate::policy::sample(json!({ "type": "object", "properties": {
        "pin": { "type": "string", "x-sensitive": true, "maxLength": 4 },
        "who": { "type": "object", "properties": { "name": { "$ref": "#/$defs/name" } } },
        "note": { "type": "string" },
    }, "$defs": { "name": { "x-sensitive": true } } })))
    .clone();
    tool.output_schema = Some(json!({ "type": "object", "properties": {
        "rows": { "type": "array", "items": { "properties": {
            "salary": { "type": "integer", "x-sensitive": true }, "id": { "type": "integer" } } } },
    } }));
    let mut record = record("sample.tool");
    record.arguments_json =
        r#"{"pin":"hunter22","who":{"name":"Li Hua"},"note":"plain"}"#.to_owned();
    record.tool = Some(std::sync::Arc::new(tool));
    record
}

/// Everything that a person can see of a call.
async fn seen(folder: &TempDir, ledger: &Ledger, call_id: &str) -> String {
    let entry = ledger.get(call_id).await.unwrap().unwrap();
    let path = config(folder).path;
    let mut text = shown_reply(&entry).to_string();
    text.push_str(&serde_json::to_string(&tell(&entry)).unwrap());
    text.push_str(&serde_json::to_string(&Entry { reply_json: None, ..entry }).unwrap());
    let mut write = |line: &str| {
        text.push_str(line);
        true
    };
    export(&path, &Query::default(), false, &mut write).unwrap();
    text
}

/// The bytes of all files of the ledger.
fn stored(folder: &TempDir) -> Vec<u8> {
    let files = fs::read_dir(folder.path()).unwrap();
    files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn marked_arguments_are_stored_nowhere_and_shown_nowhere() {
    let (folder, ledger) = fresh();
    let given = marked();
    ledger
        .record(given.clone(), r#"{"tool_name":"sample.tool","data":{"ok":true}}"#)
        .await
        .unwrap();
    let text = seen(&folder, &ledger, &given.call_id).await;
    assert!(text.contains(MASK) && text.contains("plain"), "{text}");
    for secret in ["hunter22", "Li Hua"] {
        assert!(!text.contains(secret), "{secret}: {text}");
        assert!(!holds(&stored(&folder), secret), "{secret}");
    }
    assert!(holds(&stored(&folder), "plain"), "the search would find it");
}

#[tokio::test]
async fn call_that_was_refused_before_its_tool_was_found_is_masked_all_the_same() {
    let (folder, ledger) = fresh();
    let mut given = marked();
    given.masked_by = given.tool.take();
    given.code = Some(Code::RateLimited);
    ledger.record(given.clone(), "{}").await.unwrap();
    let entry = ledger.get(&given.call_id).await.unwrap().unwrap();
    assert_eq!(entry.facts["tool_digest"], Value::Null);
    assert!(!holds(&stored(&folder), "hunter22"));
}

#[tokio::test]
async fn refusal_and_repairs_are_kept_without_what_they_repeat() {
    let (folder, ledger) = fresh();
    let mut given = marked();
    given.code = Some(Code::SchemaValidationError);
    given.repairs = vec![
        Change {
            kind: "type".into(),
            pointer: "/pin".into(),
            from: "47114711".into(),
            to: "\"47114711\"".into(),
        },
        Change {
            kind: "default".into(),
            pointer: "/note".into(),
            from: String::new(),
            to: "\"13800138000\"".into(),
        },
    ];
    let violation = |pointer: &str, got: &str| Violation {
        pointer: pointer.into(),
        kind: "maxLength".into(),
        message: format!("`{pointer}` must have at most 4 characters, but is the string `{got}`"),
        expected: json!({ "maxLength": 4 }),
        got: json!(got),
    };
    let mut violations = [violation("/pin", "hunter22"), violation("/note", "as it came")];
    violations[1].expected = json!({ "maximum": 9 });
    let number = Violation { got: json!(13_800_138_000_i64), ..violation("/note", "x") };
    let violations = [&violations[..], &[number]].concat();
    let reply = json!({
        "tool_name": "sample.tool", "status": "error", "data": null,
        "error": {
            "code": "SCHEMA_VALIDATION_ERROR",
            "message": format!("{} (and 1 more place)", violations[0].message),
            "details": { "violations": violations, "total": 2, "repairs": given.repairs },
        },
        "metadata": { "repairs": given.repairs },
    });
    ledger.record(given.clone(), &reply.to_string()).await.unwrap();
    for secret in ["hunter22", "47114711", "13800138000"] {
        assert!(!seen(&folder, &ledger, &given.call_id).await.contains(secret), "{secret}");
        assert!(!holds(&stored(&folder), secret), "{secret}");
    }
    let kept = ledger.get(&given.call_id).await.unwrap().unwrap().reply_json.unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let message = kept["error"]["message"].as_str().unwrap();
    assert_eq!(
        message,
        format!(
            "`/pin` must have at most 4 characters, but is the string `{MASK}` (and 1 more place)"
        )
    );
    assert_eq!(kept["error"]["details"]["violations"][1]["got"], "as it came");
    assert_eq!(kept["metadata"]["repairs"][0]["from"], format!("\"{MASK}\""));
    assert_eq!(ledger.verify().await.unwrap().damage, []);
}

#[tokio::test]
async fn results_are_given_back_as_they_are_and_shown_masked() {
    let (folder, ledger) = fresh();
    let given = marked();
    let reply = json!({ "tool_name": "sample.tool", "data": {
        "rows": [{ "id": 1, "salary": 91234567 }, { "id": 2, "salary": 95678912 }],
        "said": "your pin hunter22 is right", "tel": "13800138000", "password": "abc",
    } })
    .to_string();
    ledger.record(given.clone(), &reply).await.unwrap();
    let page = ledger.result(&given.call_id, 0, 9999).await.unwrap().unwrap();
    assert_eq!(page.bytes, reply.as_bytes(), "the caller gets it back");
    let entry = ledger.get(&given.call_id).await.unwrap().unwrap();
    assert_eq!(
        shown_reply(&entry)["data"],
        json!({
            "rows": [{ "id": 1, "salary": MASK }, { "id": 2, "salary": MASK }],
            "said": MASK, "tel": MASK, "password": MASK,
        })
    );
    let text = seen(&folder, &ledger, &given.call_id).await;
    for secret in ["91234567", "95678912", "hunter22", "13800138000", "\"abc\""] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn facts_that_repeat_what_a_call_brought_are_masked() {
    let (folder, ledger) = fresh();
    let mut given = record("call.13800138000");
    given.arguments_json = "not json, but 13800138000".into();
    given.files_in = vec![File::new("13800138000.txt", "", "abc".into()).facts];
    given.code = Some(Code::UnknownTool);
    let reply = r#"{"tool_name":"call.13800138000","data":null,
        "error":{"code":"UNKNOWN_TOOL","message":"no tool `call.13800138000`"},"metadata":{}}"#;
    ledger.record(given.clone(), reply).await.unwrap();
    assert!(!holds(&stored(&folder), "13800138000"));
    let entry = ledger.get(&given.call_id).await.unwrap().unwrap();
    assert_eq!(entry.tool, format!("call.{MASK}"));
    assert_eq!(entry.facts["files_in"][0]["name"], format!("{MASK}.txt"));
}

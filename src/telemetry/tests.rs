//! What reaches a log line and a collector.

use std::io::Write;
use std::sync::{Arc, Mutex};

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span, Status, Tracer, TracerProvider};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use serde_json::{Value, json};

use super::Format;
use super::lines::Line;
use super::spans::Masked;

fn written(format: Format, line: &str) -> String {
    let mut writer = Line { format, to: Vec::new() };
    writer.write_all(line.as_bytes()).unwrap();
    String::from_utf8(writer.to).unwrap()
}

#[test]
fn harmless_lines_go_out_as_they_are() {
    let line = "{\"timestamp\":\"2026-11-30T02:59:23.123456Z\",\"level\":\"INFO\",\"fields\":\
        {\"message\":\"serving\",\"text\":\"{\\\"tcp\\\":\\\"127.0.0.1:7431\\\"}\"},\
        \"span\":{\"call_id\":\"01922941-1381-7411-8311-138001380001\"}}\n";
    assert_eq!(written(Format::Json, line), line);
    assert_eq!(written(Format::Text, line), line);
}

#[test]
fn lines_are_masked_and_stay_what_they_are() {
    let said = "13800138000 said password=hunter2";
    let text =
        written(Format::Text, &format!("2026-11-30T02:59:23Z INFO call{{tool=x}}: {said}\n"));
    assert_eq!(text, "2026-11-30T02:59:23Z INFO call{tool=x}: [masked] said password=[masked]\n");
    let event = json!({ "fields": { "message": said, "token": "abc", "n": 5 }, "spans": [{ "tel": said }] });
    let line = written(Format::Json, &format!("{event}\n"));
    assert!(line.ends_with("}\n"), "one event is one line: {line}");
    let masked = "[masked] said password=[masked]";
    assert_eq!(
        serde_json::from_str::<Value>(&line).unwrap(),
        json!({ "fields": { "message": masked, "token": "[masked]", "n": 5 }, "spans": [{ "tel": masked }] })
    );
}

/// Keeps what it gets.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

#[test]
fn spans_are_masked_in_every_part() {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(Masked(kept.clone())).build();
    let mut span = provider.tracer("t").start("call 13800138000");
    span.set_attribute(KeyValue::new("tool", "a@b.example"));
    span.set_attribute(KeyValue::new("password", "hunter2"));
    span.set_attribute(KeyValue::new("count", 13_800_138_000_i64));
    span.add_event("event 13800138000", vec![KeyValue::new("error", "Bearer abc123def456")]);
    span.set_status(Status::error("13800138000"));
    span.end();
    provider.shutdown().unwrap();
    let spans = kept.0.lock().unwrap();
    let all = format!("{spans:?}");
    for secret in ["\"call 138", "a@b.example", "hunter2", "event 138", "abc123def456"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].name, "call [masked]");
    assert_eq!(spans[0].status, Status::error("[masked]"));
}

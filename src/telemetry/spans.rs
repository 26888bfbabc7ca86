//! Spans on their way to the collector: each batch in, the same with all that looks sensitive masked
//! in names, attributes, events and status out, handed on to the real exporter.

use std::borrow::Cow;
use std::time::Duration;

use opentelemetry::trace::Status;
use opentelemetry::{Array, KeyValue, StringValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use crate::mask;

/// Masks what it hands on.
#[derive(Debug)]
pub(super) struct Masked<E>(pub(super) E);

impl<E: SpanExporter> SpanExporter for Masked<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter_mut().for_each(mask_span);
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn mask_span(span: &mut SpanData) {
    mask_cow(&mut span.name);
    span.attributes.iter_mut().for_each(mask_attribute);
    for event in &mut span.events.events {
        mask_cow(&mut event.name);
        event.attributes.iter_mut().for_each(mask_attribute);
    }
    for link in &mut span.links.links {
        link.attributes.iter_mut().for_each(mask_attribute);
    }
    if let Status::Error { description } = &mut span.status {
        mask_cow(description);
    }
}

fn mask_attribute(attribute: &mut KeyValue) {
    if mask::is_secret_name(attribute.key.as_str()) {
        attribute.value = mask::MASK.into();
    }
    match &mut attribute.value {
        Value::String(text) => mask_string(text),
        Value::Array(Array::String(texts)) => texts.iter_mut().for_each(mask_string),
        // Numbers are our own: counts and durations.
        _ => {}
    }
}

fn mask_string(text: &mut StringValue) {
    if let Some(masked) = changed(text.as_str()) {
        *text = masked.into();
    }
}

fn mask_cow(text: &mut Cow<'static, str>) {
    if let Some(masked) = changed(text) {
        *text = Cow::Owned(masked);
    }
}

fn changed(text: &str) -> Option<String> {
    match mask::text(text) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    }
}

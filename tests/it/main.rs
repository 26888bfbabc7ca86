//! Integration tests: one binary against the real daemon, a real engine and real clients.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test helper may fail its test"
)]

mod approvals;
mod batches;
mod cache;
mod calls;
mod cli;
mod daemon;
mod desk;
mod dialects;
mod engine;
mod eval;
mod evidence;
mod files;
mod http;
mod identity;
mod input;
mod kit;
mod layering;
mod ledger;
mod lifecycle;
mod masking;
mod memory;
mod memoryset;
mod names;
mod native;
mod ocr;
mod reason;
mod results;
mod sandbox;
mod searching;
mod secrets;
mod shadow;
mod taint;
mod traces;
mod wire;

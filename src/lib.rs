//! Switchboard: a sidecar that takes tool calls, checks them, decides by policy, runs each in a
//! sandbox and answers in one shape. The modules stand in the order in which a call meets them.

pub mod proto;
pub mod config;
pub mod server;
pub mod service;
pub mod reason;
pub mod pipeline;
pub mod call;
pub mod pointer;
pub mod decimal;
pub mod outward;
pub mod mask;
pub mod tokens;
pub mod admission;
pub mod catalog;
pub mod schema;
pub mod approval;
pub mod policy;
pub mod sandbox;
pub mod screen;
pub mod normalize;
pub mod native;
pub mod batch;
pub mod model;
pub mod evidence;
pub mod ledger;
pub mod memory;
pub mod telemetry;
pub mod cli;

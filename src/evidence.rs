//! What an answer rests on: evidence with labels, steps that code computed, a trace that anybody can
//! check again offline, and rules that decide without a model. Reads no network and no clock, and of
//! the disk only rule files.

mod builder;
pub mod check;
pub mod compare;
pub mod confidence;
pub mod derive;
pub mod draft;
pub mod follow;
mod id;
pub mod read;
mod refusal;
pub mod rule;
mod scan;
mod schema;
#[cfg(test)]
mod tests;
pub mod trace;
mod unit;
pub mod value;

pub use builder::{Builder, Comparison, Grown, Opening, Pick};
pub(crate) use check::citable;
pub use check::{check, check_with, rule_refusals};
pub use compare::{Compared, Operator, Refused};
pub use confidence::{Config, Formula};
pub use draft::{Claim, Draft};
pub use follow::{Again, FollowUp, Given, Unfollowed, follow_up, summaries};
pub(crate) use id::{ids, is_from_nowhere, is_id};
pub use read::{Expect, Type, Unread, read};
pub use refusal::{Reason, Refusal};
pub use rule::{Loaded as LoadedRule, MemoryRead, Plan, Read, Rule, Rules, Stuck, Unfit, Want};
pub use schema::{schema, schema_text};
pub use trace::{
    Answer, Combine, Confidence, Decision, Fact, Found, Item, Known, Label, Operand, Operation,
    Partial, Source, Step, StepKind, Summary, Trace,
};
pub use value::Value;

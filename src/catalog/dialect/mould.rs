//! The schema of an answer in a dialect: what a model is bound to out, and what it wrote back in the
//! schema's own terms. The same mapping as for arguments, where the dialect has one.

use std::borrow::Cow;

use serde_json::Value;

use super::names::Keys;
use super::plan::Plan;
use super::{Dialect, copy, gemini, restore, strict};

/// The schema of an answer, which is an object.
#[derive(Debug)]
pub struct Mould {
    own: Value,
    dialect: Dialect,
    plan: Plan,
    written: Value,
    strict: bool,
}

impl Mould {
    /// Writes a schema in a dialect. Hosts that bind a model by any JSON Schema get it as it is.
    pub fn of(own: Value, dialect: Dialect) -> Self {
        let keys = Keys::of_schema(&own, dialect);
        let plan = Plan::make(&own, dialect);
        let strict = plan.strict;
        let written = match dialect {
            Dialect::OpenaiStrict if strict => strict::write(&own, &keys).0,
            Dialect::Openai | Dialect::OpenaiStrict | Dialect::Plain => own.clone(),
            Dialect::Anthropic => copy::copy(&own, dialect, &keys).0,
            Dialect::Gemini => gemini::write(&own, &keys).0.unwrap_or(Value::Null),
        };
        Self { own, dialect, plan, written, strict }
    }

    /// What the model is bound to; null where the dialect cannot say it.
    pub const fn written(&self) -> &Value {
        &self.written
    }

    /// Whether strict mode binds it.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// An answer in the terms of the schema itself.
    pub fn restore<'v>(&self, answer: &'v Value) -> Cow<'v, Value> {
        match self.dialect {
            Dialect::Openai | Dialect::Plain => Cow::Borrowed(answer),
            Dialect::OpenaiStrict if !self.strict => Cow::Borrowed(answer),
            Dialect::OpenaiStrict | Dialect::Anthropic | Dialect::Gemini => {
                restore::restore((&self.own, self.dialect), &self.plan, Cow::Borrowed(answer))
            }
        }
    }
}

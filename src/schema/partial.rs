//! Arguments of which some places are not known yet: what is known in, what is wrong with it whatever
//! the rest will be out. It never says that arguments fit: they are checked again when all is known.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::repair::{mended, opened};
use super::terms::told;
use super::violation::explain_beside;
use super::{Error, Schemas, files, kind_of, own};
use crate::call::Call;
use crate::catalog::{Repair, Tool};
use crate::pointer;

/// What stands for a place that is not known yet: text that no call has by chance.
const UNKNOWN: &str = "\u{fdd0}not known yet\u{fdd1}";

/// Stands for a place that is not known yet.
pub fn unknown() -> Value {
    json!(UNKNOWN)
}

impl Schemas {
    /// Checks a call's files, and its arguments as far as they are known; each place that is not known
    /// yet has [`unknown`] in it. An error is there to stay, whatever these places will be.
    pub fn check_partly(&self, tool: &Tool, call: &Call, arguments: &Value) -> Result<(), Error> {
        let refuse =
            |violations, total| Error::Violations { violations, total, repairs: Vec::new() };
        files::check(tool, call).map_err(|wrong| refuse(vec![*wrong], 1))?;
        if arguments == UNKNOWN {
            return Ok(());
        }
        let compiled = self.input(tool)?;
        if !arguments.is_object() {
            return Err(Error::NotObject(kind_of(arguments).to_owned()));
        }
        let wrong = |arguments: &Value| {
            let own = own(call.dialect, tool, Cow::Borrowed(arguments));
            let value = match tool.repair {
                Repair::Off => own.into_owned(),
                Repair::Safe => match mended(tool, compiled, &own) {
                    Ok(value) => value,
                    Err(conflicts) => return (conflicts.len(), conflicts),
                },
            };
            let mut places = Vec::new();
            find(&value, &mut String::new(), &mut places);
            let (violations, total) = explain_beside(compiled, &value, &places);
            (total, violations)
        };
        let (total, violations) = wrong(arguments);
        let inside = opened(tool, arguments).filter(|_| tool.repair == Repair::Safe);
        if violations.is_empty() || inside.is_some_and(|inside| wrong(&inside).0 == 0) {
            return Ok(());
        }
        Err(told(refuse(violations, total), call.dialect, tool))
    }
}

/// The places that are not known yet. A value that was read is as deep as arguments may be.
fn find(value: &Value, pointer: &mut String, places: &mut Vec<String>) {
    let mut inside = |token: &str, value: &Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(token);
        find(value, pointer, places);
        pointer.truncate(length);
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| inside(&index.to_string(), item));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| inside(&pointer::escape(name), member))
        }
        Value::String(text) if text == UNKNOWN => places.push(pointer.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

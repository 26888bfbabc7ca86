//! How much of a call is kept, and in which form: a record with its reply in, masked and cut texts
//! out, and the original arguments sealed where the operator asked for them. Writes nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::originals::Vault;
use super::record::Record;
use super::reply::{self, Against};
use super::{Config, Error};
use crate::catalog::Tool;
use crate::mask::{self, Marks, Masker, Secrets};

/// Tools whose marks are remembered, at most.
const MOST_TOOLS: usize = 4096;

/// What the configuration says, and what was found out about the tools.
#[derive(Debug)]
pub(super) struct Keeping {
    /// Length in bytes to which arguments are cut.
    bytes: usize,
    vault: Option<Vault>,
    /// By the tools' digests.
    tools: Mutex<HashMap<String, Arc<ToolMarks>>>,
}

#[derive(Debug, Default)]
struct ToolMarks {
    input: Marks,
    output: Marks,
}

impl ToolMarks {
    /// Masks what belongs to the arguments of a call.
    fn arguments<'a>(&'a self, tool: Option<&'a Tool>) -> Masker<'a> {
        tool.map_or_else(Masker::default, |tool| {
            Masker::new(&tool.input_schema, &self.input).with_aliases(&tool.aliases)
        })
    }

    fn data<'a>(&'a self, tool: Option<&'a Tool>) -> Option<Masker<'a>> {
        let schema = tool?.output_schema.as_ref()?;
        self.output.is_some().then(|| Masker::new(schema, &self.output))
    }
}

/// The texts of one record.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) arguments: String,
    pub(super) repairs: Vec<Value>,
    /// The arguments as they came, sealed, when a part of them was masked.
    pub(super) original: Option<Vec<u8>>,
    pub(super) reply: String,
    /// Places of the reply that are masked whenever it is shown.
    pub(super) places: Vec<String>,
}

impl Keeping {
    pub(super) fn new(config: &Config) -> Result<Self, Error> {
        let vault = config.originals.as_ref().map(|originals| Vault::open(&originals.key));
        Ok(Self {
            bytes: config.arguments_bytes,
            vault: vault.transpose()?,
            tools: Mutex::default(),
        })
    }

    /// For a ledger that is only read.
    pub(super) fn nothing() -> Self {
        Self { bytes: 0, vault: None, tools: Mutex::default() }
    }

    /// What the tool's schemas mark.
    fn marks(&self, tool: Option<&Tool>) -> Arc<ToolMarks> {
        let Some(tool) = tool else { return Arc::default() };
        let lock = || self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&tool.digest) {
            return Arc::clone(known);
        }
        let input = Marks::of(&tool.input_schema);
        let output = tool.output_schema.as_ref().map(Marks::of).unwrap_or_default();
        let marks = Arc::new(ToolMarks { input, output });
        let mut tools = lock();
        if tools.len() >= MOST_TOOLS {
            // Tools that were replaced long ago are among them.
            tools.clear();
        }
        tools.insert(tool.digest.clone(), Arc::clone(&marks));
        marks
    }

    /// Masks and cuts what a record keeps of its call.
    pub(super) fn texts(&self, record: &Record, reply: String) -> Result<Kept, Error> {
        let tool = record.tool.as_deref().or(record.masked_by.as_deref());
        let marks = self.marks(tool);
        let input = marks.arguments(tool);
        let came = &record.arguments_json;
        let mut arguments = input.json(came, self.bytes);
        arguments.truncate(arguments.floor_char_boundary(self.bytes));
        let masked = !came.starts_with(&arguments);
        let looked_for = masked || marks.input.is_some();
        let secrets = if looked_for { input.secrets(came) } else { Secrets::default() };
        let original = match &self.vault {
            Some(vault) if masked => Some(vault.seal(&record.call_id, came)?),
            Some(_) | None => None,
        };
        let mut repaired = false;
        let repairs = record.repairs.iter().map(|change| {
            let masked = |text: &str| input.at(&change.pointer, text);
            let (from, to) = (masked(&change.from), masked(&change.to));
            repaired |= from != change.from || to != change.to;
            json!({
                "kind": change.kind, "pointer": mask::text(&change.pointer), "from": from, "to": to,
            })
        });
        let repairs = repairs.collect();
        let against =
            Against { input, output: marks.data(tool), secrets, code: record.code, repaired };
        let (reply, places) = reply::keep(reply, &against);
        Ok(Kept { arguments, repairs, original, reply, places })
    }
}

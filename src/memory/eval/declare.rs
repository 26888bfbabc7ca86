//! Declarations for units whose collections nobody declared: whatever the units name takes all kinds,
//! sources and origins, and demands no metadata.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use toml::Table;

use super::Error;
use super::units::NAME;
use crate::memory::Draft;

/// Trust of all that is written, whatever its origin: it is not measured here.
const TRUST: i64 = 70;

/// Writes `memory/*.toml` into a folder.
pub(super) fn write(folder: &Path, drafts: &[Draft]) -> Result<(), Error> {
    let mut names: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for draft in drafts {
        let fields = names.entry(&draft.collection).or_default();
        for (name, value) in &draft.metadata {
            fields.entry(name).or_insert_with(|| form(value));
        }
    }
    let folder = folder.join("memory");
    let failed = |cause| Error::File { path: folder.clone(), cause };
    std::fs::create_dir(&folder).map_err(failed)?;
    for (at, (name, fields)) in names.into_iter().enumerate() {
        std::fs::write(folder.join(format!("{at}.toml")), text(name, &fields)).map_err(failed)?;
    }
    Ok(())
}

const fn form(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Array(_) => "texts",
        Value::Null | Value::String(_) | Value::Object(_) => "text",
    }
}

fn text(name: &str, fields: &BTreeMap<&str, &str>) -> String {
    let list = |all: &[&str]| toml::Value::from(all.to_vec());
    let origins = ["curator", "person", "model", "tool", "file", "web"];
    let trust: Table =
        origins.iter().map(|one| ((*one).to_owned(), toml::Value::from(TRUST))).collect();
    // Who writes as a curator has to be named.
    let own = format!("caller:{NAME}");
    let own: Table = ["read", "write", "review"]
        .iter()
        .map(|right| ((*right).to_owned(), list(&[own.as_str()])))
        .collect();
    let field = |form: &str| {
        let mut field = Table::new();
        field.insert("type".to_owned(), form.into());
        field.insert("required".to_owned(), false.into());
        toml::Value::from(field)
    };
    let metadata: Table =
        fields.iter().map(|(name, form)| ((*name).to_owned(), field(form))).collect();
    let mut whole = Table::new();
    whole.insert("name".to_owned(), name.into());
    whole.insert("description".to_owned(), "Units of an evaluation".into());
    whole.insert("layer".to_owned(), "notes".into());
    whole.insert("kinds".to_owned(), list(&["knowledge", "case", "preference", "result"]));
    whole.insert("sources".to_owned(), list(&["*"]));
    whole.insert("origin".to_owned(), "curator".into());
    whole.insert("trust".to_owned(), trust.into());
    whole.insert("metadata".to_owned(), metadata.into());
    whole.insert("access".to_owned(), own.into());
    whole.to_string()
}

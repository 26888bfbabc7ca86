//! `memory add` and `memory forget`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::form;
use crate::cli::client::{Where, arguments, told};
use crate::cli::{Failed, print};
use crate::memory::Draft;
use crate::proto::memory as proto;

#[derive(Debug, Args)]
pub(in crate::cli) struct Add {
    /// The unit as one JSON object, as @FILE, or - for standard input: collection, source, source_id,
    /// kind (knowledge, case, preference, result), text, metadata and so on.
    unit: String,
    /// An image whose text and description belong to the unit; its bytes are not kept. Several times
    /// for several.
    #[arg(long)]
    image: Vec<PathBuf>,
    /// Answer at once, not only when the unit is found.
    #[arg(long)]
    no_wait: bool,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Forget {
    /// The unit's id.
    #[arg(required_unless_present = "source_id", conflicts_with = "source_id")]
    unit: Option<String>,
    /// The collection of a unit that is named by its source.
    #[arg(long, requires_all = ["source", "source_id"])]
    collection: Option<String>,
    /// Its source.
    #[arg(long)]
    source: Option<String>,
    /// Its id there.
    #[arg(long, requires_all = ["source", "collection"])]
    source_id: Option<String>,
    /// Remove every version for ever, on every axis; nothing brings it back.
    #[arg(long)]
    erase: bool,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn add(options: Add) -> Result<ExitCode, Failed> {
    let text = arguments(&options.unit)?;
    let draft: Draft = serde_json::from_str(&text)
        .map_err(|error| Failed::usage(format!("that is no unit: {error}")))?;
    let image = |path: &PathBuf| {
        let content = std::fs::read(path)
            .map_err(|error| Failed::usage(format!("cannot read `{}`: {error}", path.display())))?;
        let uri = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(proto::ImageFile { uri, content: content.into(), ..proto::ImageFile::default() })
    };
    let asked = proto::RememberRequest {
        draft: Some(draft.into()),
        images: options.image.iter().map(image).collect::<Result<_, _>>()?,
        wait: !options.no_wait,
    };
    let receipt = options.at.memories().await?.remember(asked).await;
    let receipt = receipt.map_err(|status| told(&status))?.into_inner();
    if options.json {
        return print::json(&form::receipt(&receipt));
    }
    let stage = form::short(receipt.stage().as_str_name());
    let what = if receipt.evidence_id.is_empty() { &receipt.id } else { &receipt.evidence_id };
    print::text(&format!("{stage}  {what}"))?;
    for remark in &receipt.remarks {
        print::text(&format!("  {remark}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn forget(options: Forget) -> Result<ExitCode, Failed> {
    use proto::forget_request::{SourceId, What};
    let what = match options.unit {
        Some(unit) => What::UnitId(unit),
        None => What::Source(SourceId {
            collection: options.collection.unwrap_or_default(),
            source: options.source.unwrap_or_default(),
            source_id: options.source_id.unwrap_or_default(),
        }),
    };
    let asked = proto::ForgetRequest { what: Some(what), erase: options.erase };
    let done = options.at.memories().await?.forget(asked).await;
    let done = done.map_err(|status| told(&status))?.into_inner();
    if options.json {
        return print::json(&json!({
            "unit": done.unit_id, "versions": done.versions, "erased": options.erase,
        }));
    }
    let how = if options.erase { "erased" } else { "hidden from now on" };
    print::text(&format!("{}: {} versions are {how}", done.unit_id, done.versions))
}

//! `switchboard policy report`: a policies folder in, one page for an audit out.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{Folder, html, images, markdown, review};
use crate::cli::{Failed, print};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For people, in a repository.
    Markdown,
    /// One page without anything from elsewhere.
    Html,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    folder: Folder,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// The same as --format json.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let images = images(options.folder.images.as_deref())?;
    let review = review(&options.folder.catalog, &images, None)?;
    let audit = review.audit(&|name| images.get(name).cloned()).map_err(Failed::answer)?;
    match (options.json, options.format) {
        (true, _) | (_, Format::Json) => print::json(&audit),
        (false, Format::Markdown) => print::text(&markdown::page(&audit)),
        (false, Format::Html) => print::text(&html::page(&markdown::page(&audit))),
    }
}

//! The program of the tool `image.ocr`: arguments as JSON on standard input and one image in the
//! folder `in`; what tesseract reads in it as JSON on standard output. Runs in a sandbox only.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use serde::Deserialize;

mod table;

/// What the caller asks for; the tool's schema has filled in the defaults.
#[derive(Debug, Deserialize)]
struct Arguments {
    languages: Vec<String>,
    layout: Layout,
    page: u32,
    detail: Detail,
}

/// How the text lies in the image.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Layout {
    Page,
    Column,
    Block,
    Line,
    Word,
    Sparse,
}

impl Layout {
    /// Tesseract's number for it (page segmentation mode).
    const fn mode(self) -> &'static str {
        match self {
            Self::Page => "3",
            Self::Column => "4",
            Self::Block => "6",
            Self::Line => "7",
            Self::Word => "8",
            Self::Sparse => "11",
        }
    }
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Text,
    Words,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            writeln!(io::stderr(), "ocr: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    let arguments: Arguments = serde_json::from_reader(io::stdin().lock())?;
    let languages = arguments.languages.join("+");
    // One page: a TIFF can list its pages in a circle.
    let page = format!("tessedit_page_number={}", arguments.page.saturating_sub(1));
    let mode = arguments.layout.mode();
    let mut tesseract = Command::new("tesseract")
        .arg(image()?)
        .args(["-", "--psm", mode, "-l", &languages, "-c", &page, "tsv"])
        // More threads than the one processor of the sandbox only get in each other's way.
        .env("OMP_THREAD_LIMIT", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut text = String::new();
    if let Some(mut stdout) = tesseract.stdout.take() {
        stdout.read_to_string(&mut text)?;
    }
    let status = tesseract.wait()?;
    if let Some(signal) = status.signal() {
        writeln!(io::stderr(), "ocr: tesseract was ended by signal {signal}")?;
        // As a shell tells it, so that the sandbox can see a want of memory behind it.
        return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
    }
    if !status.success() {
        return Err(io::Error::other("the image cannot be read"));
    }
    let read = table::parse(&text).ok_or_else(|| io::Error::other("tesseract wrote no table"))?;
    let mut line = serde_json::to_vec(&read.tell(arguments.detail == Detail::Words))?;
    line.push(b'\n');
    io::stdout().write_all(&line)?;
    Ok(ExitCode::SUCCESS)
}

/// The one image that the call brought.
fn image() -> io::Result<PathBuf> {
    let found = fs::read_dir("in").and_then(|mut entries| entries.next().transpose());
    let entry = found.ok().flatten();
    entry.map(|entry| entry.path()).ok_or_else(|| io::Error::other("the call brings no image"))
}

//! `memory import` and `memory export`: units as JSON lines, in and out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use prost::Message;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::form;
use super::sums::{Sums, settle};
use crate::cli::client::{Where, told};
use crate::cli::{Failed, print};
use crate::memory::Draft;
use crate::proto::memory as proto;
use proto::remember_many_response::written::Outcome;

/// Units that wait to be sent.
const AHEAD: usize = 512;
/// Units of one page of an export.
const PAGE: u32 = 500;
/// Bytes of a message, at most, as the proto file says.
const MESSAGE: usize = 32 << 20;
/// What some editors put in front of a file.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Lines, and the receipts of those that are yet to be worked on.
type Open = Vec<(u64, String)>;

#[derive(Debug, Args)]
pub(in crate::cli) struct Import {
    /// The file; - for standard input.
    file: PathBuf,
    /// Go on behind a line that is wrong or refused; they are told at the end, and the exit code is 1.
    #[arg(long = "continue")]
    go_on: bool,
    /// One line of JSON for each unit: line, and receipt or error; at last one with the sums.
    #[arg(long)]
    json: bool,
    /// End once all units are durable, before it is known what becomes of each.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Export {
    /// The file; standard output without it.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only this collection; several times for several.
    #[arg(long)]
    collection: Vec<String>,
    /// Also what is held for review.
    #[arg(long)]
    held: bool,
    /// Also what is archived.
    #[arg(long)]
    archived: bool,
    #[command(flatten)]
    at: Where,
}

/// A bar on a terminal, else nothing.
pub(in crate::cli) fn bar(total: Option<u64>, unit: &str) -> ProgressBar {
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let form = match total {
        Some(_) => {
            format!("{{msg}}{{bar:40}} {{pos}} of {{len}} {unit}, {{per_sec}}, {{eta}} left")
        }
        None => format!("{{spinner}} {{pos}} {unit}, {{per_sec}}, {{elapsed}}"),
    };
    match ProgressStyle::with_template(&form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(super) async fn import(options: Import) -> Result<ExitCode, Failed> {
    let total = lines(&options.file)?;
    let input: Box<dyn AsyncRead + Send + Unpin> = match options.file.as_os_str() == "-" {
        true => Box::new(tokio::io::stdin()),
        false => Box::new(tokio::fs::File::open(&options.file).await.map_err(|error| {
            Failed::usage(format!("cannot read `{}`: {error}", options.file.display()))
        })?),
    };
    let (send, sent) = mpsc::channel(AHEAD);
    let (place, places) = mpsc::unbounded_channel();
    let mut client = options.at.memories().await?;
    let reading = read(input, send, place, &options);
    let writing = async {
        let answers = client.remember_many(ReceiverStream::new(sent)).await;
        let answers = answers.map_err(|status| told(&status))?.into_inner();
        follow(answers, places, (&options, total)).await
    };
    let ((read, cut), written) = tokio::join!(reading, writing);
    let (mut sums, open) = written?;
    if let Some(line) = cut.filter(|_| sums.refused == 0) {
        return Err(unanswered(line));
    }
    if options.no_wait {
        sums.waiting += u64::try_from(open.len()).unwrap_or(u64::MAX);
    } else {
        let bar = bar(u64::try_from(open.len()).ok(), "units worked on");
        settle(&mut client, open, &mut sums, (options.json, &bar)).await?;
        bar.finish_and_clear();
    }
    sums.refused += u64::try_from(read.len()).unwrap_or(u64::MAX);
    sums.wrong.extend(read);
    sums.tell(options.json, !options.no_wait)
}

/// How many lines a file has; `None` for standard input.
fn lines(file: &Path) -> Result<Option<u64>, Failed> {
    use std::io::BufRead;
    if file.as_os_str() == "-" {
        return Ok(None);
    }
    let wrong = |error| Failed::usage(format!("cannot read `{}`: {error}", file.display()));
    let mut reader = std::io::BufReader::new(std::fs::File::open(file).map_err(wrong)?);
    let (mut count, mut line) = (0, Vec::new());
    while reader.read_until(b'\n', &mut line).map_err(wrong)? > 0 {
        count += u64::from(!line.trim_ascii().is_empty());
        line.clear();
    }
    Ok(Some(count))
}

/// The daemon ended the stream before its time.
fn unanswered(line: u64) -> Failed {
    Failed::no_daemon(format!(
        "the daemon ended the import at line {line}, and did not say why: send the same file again, what is \
         there already costs next to nothing"
    ))
}

/// Reads and sends the lines, and tells the number of each that was sent; gives what is wrong with
/// those that were not, and the line at which nothing more was taken.
async fn read(
    input: Box<dyn AsyncRead + Send + Unpin>,
    send: mpsc::Sender<proto::RememberManyRequest>,
    place: mpsc::UnboundedSender<u64>,
    options: &Import,
) -> (Vec<String>, Option<u64>) {
    let (mut reader, mut line, mut number) = (BufReader::new(input), Vec::new(), 0);
    let mut wrong = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) => return (wrong, None),
            Ok(_) => number += 1,
            Err(error) => {
                wrong.push(format!("line {}: cannot be read: {error}", number + 1));
                return (wrong, None);
            }
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let text = line.strip_prefix(BOM).filter(|_| number == 1).unwrap_or(&line);
        match message(text) {
            Ok(one) => {
                // The daemon's side tells why nothing more is taken.
                if place.send(number).is_err() || send.send(one).await.is_err() {
                    return (wrong, Some(number));
                }
            }
            Err(why) => {
                if options.json {
                    // What cannot be printed ends the import where its answers are printed.
                    let error = json!({ "reason": "MALFORMED_LINE", "message": &why });
                    drop(print::json(&json!({ "line": number, "error": error })));
                }
                wrong.push(format!("line {number}: {why}"));
                if !options.go_on {
                    return (wrong, None);
                }
            }
        }
    }
}

/// A line as it is sent. One that no message can hold would end the whole stream.
fn message(line: &[u8]) -> Result<proto::RememberManyRequest, String> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("is no unit, which is one JSON object".to_owned());
    }
    let draft: Draft =
        serde_json::from_slice(line).map_err(|error| format!("is no unit: {error}"))?;
    let one = proto::RememberManyRequest { draft: Some(draft.into()), images: Vec::new() };
    match one.encoded_len() {
        bytes if bytes > MESSAGE => Err(format!(
            "has {bytes} bytes, and a message holds {MESSAGE}: cut it into units of one `group`"
        )),
        _ => Ok(one),
    }
}

/// Counts what became of the lines until the daemon has answered all of them; gives lines and receipts
/// of those that it has yet to work on.
async fn follow(
    mut answers: tonic::Streaming<proto::RememberManyResponse>,
    mut places: mpsc::UnboundedReceiver<u64>,
    (options, total): (&Import, Option<u64>),
) -> Result<(Sums, Open), Failed> {
    let (mut sums, mut open, bar) = (Sums::default(), Open::new(), bar(total, "units"));
    let broken = |(sums, open): (&Sums, &Open), status: &tonic::Status| {
        let Failed { code, message } = told(status);
        let taken = sums.known() + u64::try_from(open.len()).unwrap_or(u64::MAX);
        let message = format!(
            "{message}; {taken} units were taken before that: send the same file again, what is there \
             already costs next to nothing"
        );
        Failed { code, message }
    };
    loop {
        let answer = answers.message().await.map_err(|status| broken((&sums, &open), &status))?;
        let Some(answer) = answer else { break };
        for one in answer.written {
            let line = places.recv().await.unwrap_or_default();
            bar.inc(1);
            // What is waited for is told once it is known what became of it.
            let waits = match &one.outcome {
                Some(Outcome::Receipt(receipt)) => !sums.count(line, receipt),
                Some(Outcome::Refusal(_)) | None => false,
            };
            if options.json && (options.no_wait || !waits) {
                told_line(line, one.outcome.as_ref())?;
            }
            match one.outcome {
                Some(Outcome::Receipt(receipt)) if waits => open.push((line, receipt.id)),
                Some(Outcome::Receipt(_)) => {}
                Some(Outcome::Refusal(refusal)) => {
                    sums.refused += 1;
                    sums.wrong.push(format!("line {line}: {}", refusal.message));
                    if !options.go_on {
                        bar.finish_and_clear();
                        return Ok((sums, open));
                    }
                }
                None => {}
            }
        }
    }
    bar.finish_and_clear();
    places.close();
    places.recv().await.map_or(Ok((sums, open)), |line| Err(unanswered(line)))
}

fn told_line(line: u64, outcome: Option<&Outcome>) -> Result<ExitCode, Failed> {
    match outcome {
        Some(Outcome::Receipt(receipt)) => {
            print::json(&json!({ "line": line, "receipt": form::receipt(receipt) }))
        }
        Some(Outcome::Refusal(refusal)) => {
            let violation = |one: &proto::remember_many_response::Violation| json!({ "field": one.field, "description": one.description });
            print::json(&json!({
                "line": line, "error": {
                    "reason": refusal.reason, "message": refusal.message,
                    "violations": refusal.violations.iter().map(violation).collect::<Vec<_>>(),
                },
            }))
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

pub(super) async fn export(options: Export) -> Result<ExitCode, Failed> {
    let wrong = |error: std::io::Error| Failed::answer(format!("cannot write the units: {error}"));
    let mut out: Box<dyn Write> = match &options.out {
        Some(path) => {
            let made = file(path).map_err(|error| {
                Failed::usage(format!("cannot write `{}`: {error}", path.display()))
            });
            Box::new(std::io::BufWriter::new(made?))
        }
        None => Box::new(std::io::stdout()),
    };
    let mut asked = proto::ListRequest {
        collections: options.collection,
        held: options.held,
        archived: options.archived,
        page_size: PAGE,
        any_date: true,
        ..proto::ListRequest::default()
    };
    let (mut client, bar) = (options.at.memories().await?, bar(None, "units"));
    loop {
        let page = client.list(asked.clone()).await;
        let page = page.map_err(|status| told(&status))?.into_inner();
        for unit in page.units {
            let draft = form::portable(unit);
            let draft = draft.ok_or_else(|| Failed::answer("the daemon sent a unit of no form"))?;
            let line = serde_json::to_string(&draft).map_err(Failed::answer)?;
            writeln!(out, "{line}").map_err(wrong)?;
            bar.inc(1);
        }
        asked.page_token = page.next_page_token;
        if asked.page_token.is_empty() {
            break;
        }
    }
    let count = bar.position();
    bar.finish_and_clear();
    out.flush().map_err(wrong)?;
    // Standard output may be the file.
    print::error(&format!("{count} units written"));
    Ok(ExitCode::SUCCESS)
}

/// A file for its owner alone, as what it is to hold may be for few; what was in it is gone.
fn file(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let open = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    if open.metadata()?.is_file() {
        open.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        open.set_len(0)?;
    }
    Ok(open)
}

//! `switchboard trace`: the evidence of a run. `verify` needs no daemon: it checks a trace again from
//! nothing but the file.

mod show;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{Failed, print};
use crate::evidence::{Reason, Refusal, Rules, Source, Trace, check, rule_refusals, schema_text};

/// Largest trace that is read, in bytes.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum Traces {
    /// Print the evidence of one of your runs, from its daemon.
    Show(show::Show),
    /// Check a trace: every fact in its evidence, every comparison computed again, every decision and
    /// confidence; exit code 1 when anything is refused.
    Verify(Verify),
    /// Print the JSON Schema of traces.
    Schema,
}

#[derive(Debug, Args)]
pub(super) struct Verify {
    /// The file with the trace as JSON, or `-` for standard input.
    file: PathBuf,
    /// A policies folder: also check that each rule of the trace is declared there as the trace has it.
    #[arg(long, value_name = "FOLDER")]
    catalog: Option<PathBuf>,
    /// Print the outcome as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(traces: Traces) -> Result<ExitCode, Failed> {
    match traces {
        Traces::Show(options) => show::show(options).await,
        Traces::Verify(options) => verify(&options),
        Traces::Schema => print::text(schema_text()),
    }
}

fn verify(options: &Verify) -> Result<ExitCode, Failed> {
    let text = read(&options.file)?;
    let (trace, wrong) = match serde_json::from_str::<Trace>(&text) {
        Ok(trace) => {
            let mut wrong = check(&trace);
            if let Some(folder) = &options.catalog {
                wrong.extend(declared(&trace, folder)?);
            }
            (Some(trace), wrong)
        }
        Err(error) => {
            let message = format!("it is no trace: {error}; see `switchboard trace schema`");
            let refusal = Refusal { reason: Reason::Form, place: String::new(), message };
            (None, vec![refusal])
        }
    };
    let code = if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    if options.json {
        let run = trace.as_ref().map(|trace| &trace.run);
        print::json(&json!({ "run": run, "verified": wrong.is_empty(), "refusals": wrong }))?;
        return Ok(code);
    }
    match trace.filter(|_| wrong.is_empty()) {
        Some(trace) => print::shown(&told(&trace))?,
        None => print::table(&rows(&wrong))?,
    };
    Ok(code)
}

/// The rules of a trace against those that are declared.
fn declared(trace: &Trace, folder: &Path) -> Result<Vec<Refusal>, Failed> {
    if !folder.is_dir() {
        return Err(Failed::usage(format!("`{}` is not a folder", folder.display())));
    }
    let (rules, problems) = Rules::load(folder);
    for problem in problems {
        let line = format!("{} {}: {}", problem.file, problem.place, problem.message);
        print::error(&line);
    }
    Ok(rule_refusals(trace, &rules))
}

fn told(trace: &Trace) -> String {
    let of_tools = trace.evidence.iter().filter(|one| matches!(one.source, Source::Tool { .. }));
    let ends = match (&trace.answer, &trace.partial) {
        (Some(answer), _) => match &answer.decision {
            Some(decision) => {
                let rule = decision.rule.as_ref();
                let by = rule.map_or_else(String::new, |rule| format!(" by rule `{rule}`"));
                format!("decides `{}` by {}{by}", decision.value, decision.step)
            }
            None => "an answer without a decision".to_owned(),
        },
        (None, _) => "a partial answer".to_owned(),
    };
    format!(
        "verified: run {}, {} pieces of evidence ({} of tools), {} steps, {ends}",
        trace.run,
        trace.evidence.len(),
        of_tools.count(),
        trace.steps.len(),
    )
}

fn rows(wrong: &[Refusal]) -> Vec<Vec<String>> {
    let head = vec!["REFUSED".to_owned(), "WHERE".to_owned(), "WHY".to_owned()];
    let row = |one: &Refusal| {
        vec![one.reason.as_str().to_owned(), one.place.clone(), one.message.clone()]
    };
    std::iter::once(head).chain(wrong.iter().map(row)).collect()
}

fn read(file: &Path) -> Result<String, Failed> {
    let fail =
        |error: std::io::Error| Failed::usage(format!("cannot read `{}`: {error}", file.display()));
    let source: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(file).map_err(fail)?)
    };
    let mut text = String::new();
    source.take(LARGEST + 1).read_to_string(&mut text).map_err(fail)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
        let message = format!("`{}` has more than {LARGEST} bytes", file.display());
        return Err(Failed::usage(message));
    }
    Ok(text)
}

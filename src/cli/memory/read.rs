//! What is asked of the memory and read: recall, context, get, list, explain, stats.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{Around, Asked, form};
use crate::cli::client::{Where, told};
use crate::cli::{Failed, print};
use crate::proto::memory as proto;

/// Characters of a passage on a terminal.
const SHOWN: usize = 160;

#[derive(Debug, Args)]
pub(in crate::cli) struct Recall {
    #[command(flatten)]
    asked: Asked,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Context {
    #[command(flatten)]
    asked: Asked,
    /// Tokens of the whole; 8000 without it.
    #[arg(long, default_value_t = 0)]
    budget: u32,
    /// What the model is told to do, as text or @FILE.
    #[arg(long, default_value = "")]
    instructions: String,
    /// A turn before the question, oldest first; several times for several.
    #[arg(long)]
    turn: Vec<String>,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Get {
    /// The unit's id, or an evidence id (UNIT@NUMBER) for that version.
    id: String,
    /// All versions too, newest first.
    #[arg(long)]
    history: bool,
    /// One line of JSON for each version.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// Only this collection; several times for several.
    #[arg(long)]
    collection: Vec<String>,
    /// Only units whose metadata is so, as for recall.
    #[arg(long)]
    filter: Vec<String>,
    /// Only units of this kind; several times for several.
    #[arg(long, value_parser = form::kind)]
    kind: Vec<proto::Kind>,
    #[command(flatten)]
    around: Around,
    /// Only what holds then; now without it.
    #[arg(long, default_value = "")]
    as_of: String,
    /// What was known when; now without it.
    #[arg(long, default_value = "")]
    known_at: String,
    /// Also what is held for review.
    #[arg(long)]
    held: bool,
    /// Also what is archived.
    #[arg(long)]
    archived: bool,
    /// So many at most.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// One line of JSON for each.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Explain {
    #[command(flatten)]
    asked: Asked,
    /// The unit of which it is told why it did or did not come back.
    #[arg(long, default_value = "")]
    unit: String,
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Stats {
    /// One line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: Where,
}

pub(super) async fn recall(options: Recall) -> Result<ExitCode, Failed> {
    let question = Some(options.asked.wire()?);
    let asked = proto::RecallRequest { question, ..proto::RecallRequest::default() };
    let found = options.at.memories().await?.recall(asked).await;
    let found = found.map_err(|status| told(&status))?.into_inner();
    let failed = form::failed(&found.failed);
    if options.json {
        let hits: Vec<Value> = found.hits.iter().map(form::hit).collect();
        return print::json(&json!({
            "hits": hits, "failed": failed, "record": found.record_id,
        }));
    }
    warn(&found.failed);
    hits(&found.hits)
}

/// Layers that did not work, on standard error.
fn warn(failed: &[proto::FailedLayer]) {
    for layer in failed {
        let sense = form::short(layer.sense().as_str_name());
        print::error(&format!("the layer `{sense}` did not work: {}", layer.reason));
    }
}

fn hits(found: &[proto::Hit]) -> Result<ExitCode, Failed> {
    let head = ["SCORE", "EVIDENCE", "COLLECTION", "TRUST", "WHAT"].map(str::to_owned).to_vec();
    let row = |hit: &proto::Hit| {
        let unit = hit.unit.clone().unwrap_or_default();
        let trust = unit.trust.to_string();
        let draft = unit.draft.unwrap_or_default();
        let text = hit.passages.first().map_or(&draft.text, |one| &one.text);
        let mark = if hit.withheld.is_empty() { "" } else { "[withheld] " };
        let what = format!("{mark}{}", brief(text, &draft.key));
        vec![format!("{:.3}", hit.score), hit.evidence_id.clone(), draft.collection, trust, what]
    };
    print::table(&std::iter::once(head).chain(found.iter().map(row)).collect::<Vec<_>>())
}

fn brief(text: &str, key: &str) -> String {
    let text = if text.is_empty() { key } else { text };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

pub(super) async fn context(options: Context) -> Result<ExitCode, Failed> {
    let instructions = crate::cli::client::arguments(&options.instructions)?;
    let question = options.asked.wire()?;
    let asked = proto::ContextRequest {
        question: Some(proto::Question { conversation: options.turn.clone(), ..question }),
        budget_tokens: options.budget,
        instructions,
        turns: options.turn,
        ..proto::ContextRequest::default()
    };
    let made = options.at.memories().await?.context(asked).await;
    let made = made.map_err(|status| told(&status))?.into_inner();
    if !options.json {
        warn(&made.failed);
        return print::text(&made.text);
    }
    let part = |part: &proto::context_response::Part| {
        json!({
            "name": part.name, "tokens": part.tokens, "granted": part.granted, "wanted": part.wanted,
        })
    };
    let used = |used: &proto::context_response::Used| json!({ "evidence": used.evidence_id, "form": used.form, "enveloped": used.enveloped });
    print::json(&json!({
        "text": made.text, "tokens": made.tokens, "nonce": made.nonce,
        "parts": made.parts.iter().map(part).collect::<Vec<_>>(),
        "units": made.units.iter().map(used).collect::<Vec<_>>(),
        "failed": form::failed(&made.failed), "record": made.record_id,
    }))
}

pub(super) async fn get(options: Get) -> Result<ExitCode, Failed> {
    let asked = proto::GetRequest { id: options.id, history: options.history };
    let found = options.at.memories().await?.get(asked).await;
    let found = found.map_err(|status| told(&status))?.into_inner();
    let all = match options.history {
        true => found.history,
        false => found.unit.into_iter().collect(),
    };
    for unit in all {
        let unit = form::unit(unit);
        match options.json {
            true => print::json(&unit)?,
            false => print::text(&serde_json::to_string_pretty(&unit).map_err(Failed::answer)?)?,
        };
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn list(options: List) -> Result<ExitCode, Failed> {
    let filters = options.filter.iter().map(|text| form::filter(text)).collect::<Result<_, _>>()?;
    let mut asked = proto::ListRequest {
        collections: options.collection,
        kinds: options.kind.into_iter().map(Into::into).collect(),
        filters,
        spot: options.around.spot(),
        as_of: options.as_of,
        known_at: options.known_at,
        held: options.held,
        archived: options.archived,
        ..proto::ListRequest::default()
    };
    let (mut client, mut found) = (options.at.memories().await?, Vec::new());
    while found.len() < options.limit {
        asked.page_size = u32::try_from(options.limit.min(1000)).unwrap_or(1000);
        let page = client.list(asked.clone()).await;
        let page = page.map_err(|status| told(&status))?.into_inner();
        found.extend(page.units);
        asked.page_token = page.next_page_token;
        if asked.page_token.is_empty() {
            break;
        }
    }
    found.truncate(options.limit);
    if options.json {
        for unit in found {
            print::json(&form::unit(unit))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let head = ["EVIDENCE", "COLLECTION", "STATE", "SOURCE", "ID", "WHAT"];
    let row = |unit: proto::Unit| {
        let state = form::short(unit.state().as_str_name());
        let draft = unit.draft.unwrap_or_default();
        let what = brief(&draft.key, &draft.text);
        vec![unit.evidence_id, draft.collection, state, draft.source, draft.source_id, what]
    };
    let head = head.map(str::to_owned).to_vec();
    print::table(&std::iter::once(head).chain(found.into_iter().map(row)).collect::<Vec<_>>())
}

pub(super) async fn explain(options: Explain) -> Result<ExitCode, Failed> {
    let asked =
        proto::ExplainRequest { question: Some(options.asked.wire()?), unit_id: options.unit };
    let found = options.at.memories().await?.explain(asked).await;
    let found = found.map_err(|status| told(&status))?.into_inner();
    let reading = found.reading.unwrap_or_default();
    if options.json {
        let verdict = |one: &proto::explain_response::Verdict| {
            json!({
                "evidence": one.evidence_id, "place": one.place, "why": one.why,
                "scores": one.scores.iter().map(form::score).collect::<Vec<_>>(),
            })
        };
        let micros = reading.times.iter().map(|time| {
            json!({ "sense": form::short(time.sense().as_str_name()), "micros": time.micros })
        });
        let list = |hits: &[proto::Hit]| hits.iter().map(form::hit).collect::<Vec<_>>();
        return print::json(&json!({
            "normal": reading.normal, "words": reading.words, "rewritten": reading.rewritten,
            "times": micros.collect::<Vec<_>>(),
            "verdicts": found.verdicts.iter().map(verdict).collect::<Vec<_>>(),
            "failed": form::failed(&found.failed),
            "hits": list(&found.hits), "missed": list(&found.missed),
        }));
    }
    warn(&found.failed);
    print::text(&format!("asked as: {}\nfull text: {}", reading.normal, reading.words))?;
    for time in &reading.times {
        let sense = form::short(time.sense().as_str_name());
        print::text(&format!("  {sense}: {} µs", time.micros))?;
    }
    for verdict in &found.verdicts {
        let place = match verdict.place {
            0 => "did not come back".to_owned(),
            place => format!("came back on place {place}"),
        };
        print::text(&format!("{} {place}", verdict.evidence_id))?;
        for why in &verdict.why {
            print::text(&format!("  {why}"))?;
        }
    }
    hits(&found.hits)?;
    for hit in &found.missed {
        print::text(&format!("{:.3}  {}  {}", hit.score, hit.evidence_id, hit.withheld))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn stats(options: Stats) -> Result<ExitCode, Failed> {
    let found = options.at.memories().await?.stats(proto::StatsRequest {}).await;
    let found = found.map_err(|status| told(&status))?.into_inner();
    if options.json {
        let collection = |one: &proto::stats_response::Collection| {
            let declaration: Value =
                serde_json::from_str(&one.declaration_json).unwrap_or_default();
            json!({
                "name": one.name, "description": one.description,
                "layer": form::short(one.layer().as_str_name()), "verbs": one.verbs,
                "declaration": declaration,
            })
        };
        let vectors = |one: &proto::stats_response::Vectors| json!({ "model": one.model, "chunks": one.chunks });
        return print::json(&json!({
            "store": found.store, "units": found.units, "versions": found.versions,
            "chunks": found.chunks, "vectors": found.vectors.iter().map(vectors).collect::<Vec<_>>(),
            "held": found.held, "quarantined": found.quarantined, "waiting": found.waiting,
            "embedder": found.embedder,
            "embedding": found.embedding.as_ref().map(|one| json!({
                "made": one.made, "missing": one.missing, "loading": one.loading,
                "fault": one.fault,
            })),
            "collections": found.collections.iter().map(collection).collect::<Vec<_>>(),
        }));
    }
    print::text(&format!(
        "{}: {} units, {} versions, {} chunks, {} held, {} quarantined, {} writes wait",
        found.store,
        found.units,
        found.versions,
        found.chunks,
        found.held,
        found.quarantined,
        found.waiting
    ))?;
    if found.embedder.is_empty() {
        print::text("embedder: none, questions are answered without vectors")?;
    }
    if let Some(vectors) = found.embedding.as_ref().filter(|_| !found.embedder.is_empty()) {
        let all = vectors.made.saturating_add(vectors.missing);
        let mut line = format!("vectors of {}: {} of {all} chunks", found.embedder, vectors.made);
        if vectors.loading {
            line.push_str("; the model is being read");
        }
        if !vectors.fault.is_empty() {
            line.push_str("; ");
            line.push_str(&vectors.fault);
        }
        print::text(&line)?;
    }
    for one in found.vectors.iter().filter(|one| one.model != found.embedder) {
        print::text(&format!("  {} chunks by {}", one.chunks, one.model))?;
    }
    for one in &found.collections {
        print::text(&format!("{}  ({})  {}", one.name, one.verbs.join(", "), one.description))?;
    }
    Ok(ExitCode::SUCCESS)
}

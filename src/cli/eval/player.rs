//! A model server for suites: it answers each question to a model with what the script of the running case
//! says, or refuses a question that does not fit it. With an upstream it asks that instead and records.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::ask::{Ask, Said};
use super::record::Recorder;
use super::script::{Line, Made, fill};
use crate::call::Dialect;
use crate::catalog::exported_name;
use crate::cli::print;

/// Most bytes of a question to a model.
const MAX_BODY: usize = 32 << 20;
/// Characters of a question that fits nothing which are told of it.
const TOLD: usize = 4000;

/// The server's part that the runner of cases holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Player(Arc<Mutex<Stage>>);

/// The question that runs.
#[derive(Debug, Default)]
struct Stage {
    scene: Option<Scene>,
}

#[derive(Debug)]
struct Scene {
    case: String,
    turn: usize,
    question: String,
    script: Vec<Line>,
    /// Which lines were said.
    said: Vec<bool>,
    /// Questions to a model so far.
    asked: usize,
    /// Whether it stands for itself: each answer any number of times, and nothing is kept.
    stands: bool,
    heard: Heard,
}

/// What a model was asked while one question ran.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    /// Everything it was told, by question.
    pub(super) prompts: Vec<String>,
    /// Why a question did not fit the script.
    pub(super) misfits: Vec<String>,
    /// Answers of the script that nobody asked for.
    pub(super) left: usize,
}

impl Player {
    /// Sets the scene: whatever is asked from now on belongs to this question of this case.
    pub(super) fn begin(&self, case: (&str, usize), question: &str, script: &[Line]) {
        let scene = Scene {
            case: case.0.to_owned(),
            turn: case.1,
            question: question.to_owned(),
            said: vec![false; script.len()],
            script: script.to_vec(),
            asked: 0,
            stands: false,
            heard: Heard::default(),
        };
        self.stage().scene = Some(scene);
    }

    /// One that answers by this script until the process ends.
    pub(super) fn standing(script: Vec<Line>) -> Self {
        let script: Vec<Line> =
            script.into_iter().map(|line| Line { again: true, ..line }).collect();
        let player = Self::default();
        player.begin(("", 0), "", &script);
        if let Some(scene) = &mut player.stage().scene {
            scene.stands = true;
        }
        player
    }

    /// Ends it, and tells what was asked.
    pub(super) fn end(&self) -> Heard {
        let scene = self.stage().scene.take();
        scene.map_or_else(Heard::default, |scene| {
            let left = scene.said.iter().zip(&scene.script);
            let left = left.filter(|(said, line)| !**said && !line.again).count();
            Heard { left, ..scene.heard }
        })
    }

    fn stage(&self) -> std::sync::MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one question from the script.
    fn play(&self, ask: &Ask) -> Result<(Said, usize), String> {
        let mut stage = self.stage();
        let Some(scene) = &mut stage.scene else {
            return Err("no case runs: is this a run that was begun before?".to_owned());
        };
        scene.asked += 1;
        if !scene.stands {
            scene.heard.prompts.push(ask.told.clone());
        }
        match scene.answer(ask) {
            Ok(said) => Ok((said, scene.asked)),
            Err(_) if scene.stands => {
                let why = unfit(ask);
                print::error(&why);
                Err(why)
            }
            Err(why) => {
                scene.heard.misfits.push(why.clone());
                Err(why)
            }
        }
    }

    /// Keeps what was asked of an upstream; `None` while no case runs.
    pub(super) fn note(&self, ask: &Ask) -> Option<(String, usize)> {
        let mut stage = self.stage();
        let scene = stage.scene.as_mut()?;
        scene.heard.prompts.push(ask.told.clone());
        Some((scene.case.clone(), scene.turn))
    }
}

impl Scene {
    fn answer(&mut self, ask: &Ask) -> Result<Said, String> {
        let place = format!("case `{}`, question {}", self.case, self.turn);
        let mut first = None;
        let lines = self.script.iter().zip(&mut self.said);
        for (line, said) in lines.filter(|(line, said)| {
            (!**said || line.again) && (line.model.is_empty() || line.model == ask.model)
        }) {
            match fits(line, ask, &self.question).and_then(|()| filled(line, ask)) {
                Ok(answer) => {
                    *said = true;
                    return Ok(answer);
                }
                Err(why) if first.is_none() => first = Some(why),
                Err(_later) => {}
            }
        }
        Err(first.map_or_else(
            || {
                let all = self.script.len();
                format!(
                    "{place}: `{}` is asked once more than the script has answers ({all}); write \
                     one more, or record it anew",
                    ask.model
                )
            },
            |why| format!("{place}: the question to `{}` does not fit: {why}", ask.model),
        ))
    }
}

/// What is told of a question that no answer of a script fits.
fn unfit(ask: &Ask) -> String {
    let skipped = ask.told.chars().count().saturating_sub(TOLD);
    let end: String = ask.told.chars().skip(skipped).collect();
    format!("no answer of the script fits what ends with: {end}")
}

/// Whether a question is the one that an answer was given to, in what matters.
fn fits(line: &Line, ask: &Ask, question: &str) -> Result<(), String> {
    // A judge of an answer, and a router, are told the question too; a worker of a plan has its own.
    if line.sees.is_empty() && line.after.is_none() && !ask.told.contains(question.trim()) {
        return Err("it does not have the words of the case's question".to_owned());
    }
    if let Some(text) = line.sees.iter().find(|text| !ask.told.contains(text.as_str())) {
        return Err(format!("it does not have `{text}`"));
    }
    if let Some(text) = line.blind.iter().find(|text| ask.told.contains(text.as_str())) {
        return Err(format!("it has `{text}`, which must not be there"));
    }
    if let Some(tool) = line.offered.iter().find(|tool| !ask.offers(tool)) {
        return Err(format!("it does not offer `{tool}`; it offers {}", ask.offered.join(", ")));
    }
    if let Some(tool) = line.hidden.iter().find(|tool| ask.offers(tool)) {
        return Err(format!("it offers `{tool}`, which must not be there"));
    }
    match &line.after {
        Some(after) => came(after, &ask.made),
        None => Ok(()),
    }
}

/// Whether the calls whose results are told are those that were recorded.
fn came(after: &[Made], made: &[(String, Value)]) -> Result<(), String> {
    let same = |(one, (name, arguments)): (&Made, &(String, Value))| {
        exported_name(&one.tool, Dialect::Openai) == *name && one.arguments == *arguments
    };
    if after.len() == made.len() && after.iter().zip(made).all(same) {
        return Ok(());
    }
    let told =
        |calls: Vec<String>| if calls.is_empty() { "none".to_owned() } else { calls.join(", ") };
    Err(format!(
        "recorded after the calls {}; it comes after {}",
        told(after.iter().map(|one| format!("{} {}", one.tool, one.arguments)).collect()),
        told(made.iter().map(|(name, arguments)| format!("{name} {arguments}")).collect())
    ))
}

fn filled(line: &Line, ask: &Ask) -> Result<Said, String> {
    if line.raw {
        return Ok(Said { text: line.words(), calls: line.calls.clone() });
    }
    let words = match &line.last {
        Some(last) => json!({ "final": fill(last, &ask.told)? }).to_string(),
        None => match fill(&Value::from(line.words()), &ask.told)? {
            Value::String(words) => words,
            other => other.to_string(),
        },
    };
    let calls = line.calls.iter().map(|call| {
        let arguments = fill(&call.arguments, &ask.told)?;
        Ok(Made { tool: call.tool.clone(), arguments })
    });
    Ok(Said { text: words, calls: calls.collect::<Result<_, String>>()? })
}

/// Listens, and answers until the process ends.
pub(super) async fn serve(
    player: Player,
    recorder: Option<Arc<Recorder>>,
    listen: SocketAddr,
    tasks: &TaskTracker,
) -> Result<SocketAddr, String> {
    let wrong = |error| format!("no model can be played at {listen}: {error}; see `--listen`");
    let listener = TcpListener::bind(listen).await.map_err(wrong)?;
    let bound = listener.local_addr().map_err(wrong)?;
    // A small answer would wait for the peer's delayed acknowledgement. A socket that refuses still works.
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or_default());
    // Whatever path the daemon's configuration gives is this one model.
    let app = Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state((player, recorder));
    tasks.spawn(async move {
        if let Err(error) = axum::serve(listener, app).await {
            tracing::warn!(%error, "the model is not played any more");
        }
    });
    Ok(bound)
}

async fn answer(
    State((player, recorder)): State<(Player, Option<Arc<Recorder>>)>,
    body: Bytes,
) -> Response {
    let ask = match Ask::read(&body) {
        Ok(ask) => ask,
        Err(why) => return refusal(&why),
    };
    if let Some(recorder) = recorder {
        return recorder.ask(&player, &ask, body).await.unwrap_or_else(|why| refusal(&why));
    }
    match player.play(&ask) {
        Ok((said, number)) => {
            let kind = if ask.stream { "text/event-stream" } else { "application/json" };
            ([(header::CONTENT_TYPE, kind)], said.body(&ask, number)).into_response()
        }
        Err(why) => refusal(&why),
    }
}

/// In the form of a provider that refuses what it is sent: there is no use in asking again.
fn refusal(why: &str) -> Response {
    let body = json!({ "error": { "message": why, "type": "invalid_request_error", "code": "recording" } });
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::UNPROCESSABLE_ENTITY, kind, body.to_string()).into_response()
}

#[cfg(test)]
mod tests;

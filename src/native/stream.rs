//! A streamed response as its bytes came in, what the whole message would hold out. A stream without
//! its end is refused: nothing of it is handed on.

use super::frames::{Frames, frames};
use super::node::Node;
use super::pieces::{Delta, Pieces};
use super::{Asked, Error, Kind, Provider, Turn, anthropic, counted, gemini, ollama, responses};

/// Puts a streamed response together.
pub fn assemble(provider: Provider, bytes: &[u8]) -> Result<Turn, Error> {
    counted(provider, joined(provider, bytes))
}

fn joined(provider: Provider, bytes: &[u8]) -> Result<Turn, Error> {
    let frames = frames(bytes)?;
    let (turn, ended) = match provider {
        Provider::OpenaiChat => chunks(&frames)?,
        Provider::OpenaiResponses => items(&frames)?,
        Provider::Anthropic => blocks(&frames)?,
        Provider::Gemini => contents(&frames)?,
        Provider::Ollama => messages(&frames)?,
        Provider::Text => {
            let what = "is for messages of a provider: send `text`".to_owned();
            return Err(Error::Malformed { place: String::new(), what });
        }
    };
    if !ended {
        return Err(Error::Cut("has no end mark".to_owned()));
    }
    turn.bounded()
}

/// Reads each event; one that ends early can only be the last.
fn each<'f>(
    frames: &'f Frames,
    mut take: impl FnMut(Node<'f>) -> Result<(), Error>,
) -> Result<(), Error> {
    let last = frames.events.len().saturating_sub(1);
    for (number, text) in frames.events.iter().enumerate() {
        let place = format!("/events/{number}");
        let cut = |stop: super::raw::Stop| number == last && stop.cut;
        if super::raw::span(text).is_err_and(cut) {
            return Err(Error::Cut("ends inside an event".to_owned()));
        }
        let event = Node::whole(text, &place)?;
        if !event.is_object() {
            return Err(event.wrong("must be an object"));
        }
        take(event)?;
    }
    Ok(())
}

/// Whether an event says that the provider failed.
fn failed(event: &Node<'_>) -> Result<(), Error> {
    let error = event.get("error")?;
    let is_error = error.is_some() || event.word("type")? == "error";
    if !is_error {
        return Ok(());
    }
    Err(Error::Cut(format!("holds an error of the provider ({})", event.place)))
}

/// Chunks of `OpenAI` chat.
fn chunks(frames: &Frames) -> Result<(Turn, bool), Error> {
    let (mut turn, mut pieces) = (Turn::default(), Pieces::default());
    each(frames, |event| {
        failed(&event)?;
        let Some(choices) = event.get("choices")? else { return chat_chunk(&event) };
        let Some(choice) = choices.only()? else { return Ok(()) };
        if choice.index("index")?.unwrap_or(0) > 0 {
            return Err(choice.wrong("is of a second answer: ask the model for one"));
        }
        let stop = choice.word("finish_reason")?;
        if !stop.is_empty() {
            turn.stop = stop;
        }
        let Some(delta) = choice.any(&["delta", "message"])? else { return Ok(()) };
        if let Some(content) = delta.get("content")?.filter(Node::is_string) {
            turn.text.push_str(&content.string()?);
        }
        let calls = delta.list("tool_calls")?;
        for call in &calls {
            pieces.add(chat_delta(call)?);
        }
        if let Some(call) = delta.get("function_call")?.filter(|_| calls.is_empty()) {
            let (name, arguments) = (call.word("name")?, text_of(call.get("arguments")?));
            let kind = Kind::Legacy;
            pieces.add(Delta { name, arguments, kind, index: Some(0), id: String::new() });
        }
        Ok(())
    })?;
    let ended = frames.done || !turn.stop.is_empty();
    turn.calls = pieces.finish();
    Ok((turn, ended))
}

/// An event without choices: figures at the end of a stream, or none of this provider's.
fn chat_chunk(event: &Node<'_>) -> Result<(), Error> {
    match event.any(&["usage", "id", "object"])? {
        Some(_) if event.get("message")?.is_none() => Ok(()),
        _ => Err(event.wrong("is no chunk of OpenAI chat: it has no `choices`")),
    }
}

fn chat_delta(call: &Node<'_>) -> Result<Delta, Error> {
    let custom = call.get("custom")?.filter(Node::is_object);
    let kind = if custom.is_some() { Kind::Custom } else { Kind::Function };
    let inner = match custom {
        Some(custom) => Some(custom),
        None => call.get("function")?,
    };
    let (name, arguments) = match inner {
        Some(inner) => (inner.word("name")?, text_of(inner.any(&["arguments", "input"])?)),
        None => (String::new(), String::new()),
    };
    Ok(Delta { index: call.index("index")?, id: call.word("id")?, name, arguments, kind })
}

/// A piece of arguments: the text of a string, or a whole value that some servers send at once.
fn text_of(piece: Option<Node<'_>>) -> String {
    piece.map_or_else(String::new, |piece| match piece.is_string() {
        true => piece.string().unwrap_or_else(|_| piece.text.to_owned()),
        false => piece.text.to_owned(),
    })
}

/// Events of the responses API. The response at the end holds every item; where a server leaves its
/// output out, the finished items do.
fn items(frames: &Frames) -> Result<(Turn, bool), Error> {
    let (mut finished, mut last) = (Turn::default(), None);
    each(frames, |event| {
        let kind = event.need("type")?.string()?;
        match kind.as_str() {
            "response.output_item.done" => responses::take(&event.need("item")?, &mut finished)?,
            "response.completed" | "response.incomplete" | "response.done" => {
                last = Some(event.need("response")?);
            }
            "response.failed" | "response.cancelled" | "error" => {
                return Err(Error::Cut(format!("ends with `{kind}`")));
            }
            _ => {}
        }
        Ok(())
    })?;
    let Some(last) = last else { return Ok((finished, false)) };
    let mut turn = responses::read(&last)?;
    if turn.calls.is_empty() {
        turn = Turn { stop: turn.stop, ..finished };
    }
    Ok((turn, true))
}

/// Events of Anthropic.
fn blocks(frames: &Frames) -> Result<(Turn, bool), Error> {
    let mut blocks = Blocks::default();
    each(frames, |event| blocks.take(&event))?;
    let Blocks { mut turn, pieces, open, ended } = blocks;
    turn.calls = pieces.finish();
    Ok((turn, ended && open.is_empty()))
}

/// What the events of Anthropic come to.
#[derive(Default)]
struct Blocks {
    turn: Turn,
    pieces: Pieces,
    /// The blocks with calls that are not at their end.
    open: Vec<u64>,
    ended: bool,
}

impl Blocks {
    fn take(&mut self, event: &Node<'_>) -> Result<(), Error> {
        match event.need("type")?.string()?.as_str() {
            "content_block_start" => self.start(event)?,
            "content_block_delta" => self.extend(event)?,
            "content_block_stop" => {
                let index = event.index("index")?;
                self.open.retain(|open| Some(*open) != index);
            }
            "message_delta" => {
                if let Some(delta) = event.get("delta")? {
                    self.turn.stop = delta.word("stop_reason")?;
                }
            }
            "message_stop" => self.ended = true,
            "error" => failed(event)?,
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, event: &Node<'_>) -> Result<(), Error> {
        let block = event.need("content_block")?;
        match block.word("type")?.as_str() {
            "text" => self.turn.text.push_str(&block.word("text")?),
            "tool_use" => {
                let index = event.index("index")?;
                self.open.push(index.ok_or_else(|| event.wrong("has no `index`"))?);
                let Asked { id, name, arguments, kind, .. } = anthropic::asked(&block)?;
                // The input stands there as {} and comes in pieces, or at once.
                let arguments = if arguments == "{}" { String::new() } else { arguments };
                self.pieces.add(Delta { index, id, name, arguments, kind });
            }
            _ => {}
        }
        Ok(())
    }

    fn extend(&mut self, event: &Node<'_>) -> Result<(), Error> {
        let (index, delta) = (event.index("index")?, event.need("delta")?);
        match delta.word("type")?.as_str() {
            "text_delta" => self.turn.text.push_str(&delta.word("text")?),
            // That of a tool of the provider is left alone.
            "input_json_delta" if index.is_some_and(|index| self.open.contains(&index)) => {
                let arguments = delta.word("partial_json")?;
                self.pieces.add(Delta { index, arguments, ..Delta::default() });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Chunks of Gemini: each part is whole.
fn contents(frames: &Frames) -> Result<(Turn, bool), Error> {
    let mut turn = Turn::default();
    each(frames, |event| {
        failed(&event)?;
        if event.any(&["candidates", "promptFeedback", "usageMetadata"])?.is_none() {
            return Err(event.wrong("is no response of Gemini: it has no `candidates`"));
        }
        gemini::take(&event, &mut turn)
    })?;
    let ended = !turn.stop.is_empty();
    Ok((turn, ended))
}

/// Lines of Ollama: each call is whole.
fn messages(frames: &Frames) -> Result<(Turn, bool), Error> {
    let (mut turn, mut ended) = (Turn::default(), false);
    each(frames, |event| {
        if event.any(&["message", "done", "error"])?.is_none() {
            return Err(event.wrong("is no response of Ollama: it has no `message`"));
        }
        ollama::take(&event, &mut turn)?;
        ended |= event.flag("done")? == Some(true);
        Ok(())
    })?;
    Ok((turn, ended))
}

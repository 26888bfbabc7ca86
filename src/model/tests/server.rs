//! A model server for tests: it answers each question with the next line of its script, the last one for
//! ever, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// One answer.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Status, further headers, body.
    Say(u16, Vec<(&'static str, String)>, String),
    /// The pieces of a streamed body, and how it ends.
    Pieces(Vec<String>, End),
    /// A body of so many bytes of JSON that is one text.
    Large(usize),
    /// Nothing; the connection stays.
    Hang,
    /// Nothing; the connection is closed.
    Drop,
}

/// How a streamed body ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    Whole,
    Cut,
    Silent,
}

/// What it was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

pub(super) struct Server {
    url: String,
    asked: watch::Receiver<Vec<Asked>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) async fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = watch::channel(Vec::new());
        let (sender, script) = (Arc::new(sender), Arc::new(Mutex::new(script)));
        let task = async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&sender), Arc::clone(&script)));
            }
        };
        let task = TaskTracker::new().spawn(task);
        Self { url, asked, task }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Everything that it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    /// The bodies that it was asked with.
    pub(super) fn bodies(&self) -> Vec<Value> {
        self.asked().into_iter().map(|asked| asked.body).collect()
    }

    /// Ends when it was asked so often.
    pub(super) async fn was_asked(&self, times: usize) {
        self.asked.clone().wait_for(|asked| asked.len() >= times).await.unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    sender: Arc<watch::Sender<Vec<Asked>>>,
    script: Arc<Mutex<Vec<Act>>>,
) {
    let mut kept = Vec::new();
    while let Some(asked) = read(&mut stream, &mut kept).await {
        let act = {
            let mut script = script.lock().unwrap();
            if script.len() > 1 { script.remove(0) } else { script.first().cloned().unwrap() }
        };
        sender.send_modify(|all| all.push(asked));
        if !answer(&mut stream, act).await {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream, kept: &mut Vec<u8>) -> Option<Asked> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = request.parse(kept) {
            let target = request.path?.to_owned();
            let headers: Vec<(String, String)> = request
                .headers
                .iter()
                .map(|one| (one.name.to_owned(), String::from_utf8_lossy(one.value).into_owned()))
                .collect();
            let length =
                headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length?.1.parse().ok()?;
            if kept.len() >= head + length {
                let body = serde_json::from_slice(&kept[head..head + length]).ok()?;
                kept.drain(..head + length);
                return Some(Asked { target, headers, body });
            }
        }
        if stream.read_buf(kept).await.ok()? == 0 {
            return None;
        }
    }
}

/// Answers; whether the connection stays.
async fn answer(stream: &mut TcpStream, act: Act) -> bool {
    match act {
        Act::Say(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let whole = format!("{head}content-type: application/json\r\n\r\n{body}");
            stream.write_all(whole.as_bytes()).await.is_ok()
        }
        Act::Large(bytes) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n\"", bytes + 2);
            let text = "x".repeat(bytes);
            let _broken = stream.write_all(format!("{head}{text}\"").as_bytes()).await;
            false
        }
        Act::Pieces(pieces, end) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                        transfer-encoding: chunked\r\n\r\n";
            if stream.write_all(head.as_bytes()).await.is_err() {
                return false;
            }
            for piece in pieces {
                let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                if stream.write_all(chunk.as_bytes()).await.is_err() {
                    return false;
                }
            }
            match end {
                End::Whole => stream.write_all(b"0\r\n\r\n").await.is_ok(),
                End::Cut => false,
                End::Silent => std::future::pending().await,
            }
        }
        Act::Hang => std::future::pending().await,
        Act::Drop => false,
    }
}

/// A whole answer of a provider.
pub(super) fn say(body: &Value) -> Act {
    Act::Say(200, vec![], body.to_string())
}

/// An error.
pub(super) fn fail(status: u16, body: &Value) -> Act {
    Act::Say(status, vec![], body.to_string())
}

/// Server-sent events that come to their end.
pub(super) fn stream(events: &[Value]) -> Act {
    Act::Pieces(events.iter().map(|event| format!("data: {event}\n\n")).collect(), End::Whole)
}

/// Chat: a text with usage.
pub(super) fn chat(text: &str) -> Value {
    json!({
        "choices": [{ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": text } }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 }
    })
}

/// Chat: the same in pieces.
pub(super) fn chunks(texts: &[&str]) -> Vec<Value> {
    let mut events: Vec<Value> = texts
        .iter()
        .map(|text| json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
        .collect();
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5 });
    events.push(json!({ "choices": [], "usage": usage }));
    events
}

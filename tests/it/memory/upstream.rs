//! A model's HTTP endpoint that really answers at loopback: rightly, or as badly as a test wants.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How it answers from now on.
#[derive(Clone)]
pub(super) enum Answer {
    /// With what this makes of a body.
    Right(fn(&Value) -> Value),
    /// 200 and this text.
    Text(String),
    /// This status and no body.
    Status(u16),
    /// Not at all; the connection stays.
    Silence,
    /// Not at all; the connection is closed.
    Close,
}

/// An endpoint.
pub(super) struct Upstream {
    pub(super) port: u16,
    answer: Arc<Mutex<Answer>>,
    seen: Arc<Mutex<Vec<Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Upstream {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answer, seen) = (Arc::new(Mutex::new(answer)), Arc::<Mutex<Vec<Value>>>::default());
        let (say, kept) = (Arc::clone(&answer), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&say), Arc::clone(&kept)));
            }
        });
        Self { port, answer, seen, task }
    }

    /// Answers like this from now on.
    pub(super) fn now(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// The bodies that came.
    pub(super) fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Requests of one connection, one after the other. A client that goes away is what some tests want.
async fn serve(mut stream: TcpStream, answer: Arc<Mutex<Answer>>, seen: Arc<Mutex<Vec<Value>>>) {
    while let Some(body) = body(&mut stream).await {
        let answer = answer.lock().unwrap().clone();
        seen.lock().unwrap().push(body.clone());
        let (status, text) = match answer {
            Answer::Right(make) => (200, make(&body).to_string()),
            Answer::Text(text) => (200, text),
            Answer::Status(status) => (status, String::new()),
            Answer::Silence => return std::future::pending().await,
            Answer::Close => return,
        };
        let head = format!(
            "HTTP/1.1 {status} Told\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        if stream.write_all((head + &text).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The JSON of the next request.
async fn body(stream: &mut TcpStream) -> Option<Value> {
    let (mut bytes, mut part) = (Vec::new(), [0; 8192]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split_once("content-length: ")
                .map(|(_, rest)| rest.split_whitespace().next().unwrap().parse::<usize>().unwrap());
            if rest.len() >= length.unwrap_or_default() {
                return serde_json::from_str(rest).ok();
            }
        }
        match stream.read(&mut part).await {
            Ok(read) if read > 0 => bytes.extend(&part[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

/// What a model that sees says.
pub(super) fn says(text: &str) -> Answer {
    Answer::Text(json!({ "choices": [{ "message": { "content": text } }] }).to_string())
}

//! A scripted model behind a real socket: speaks the wire formats of OpenAI, Anthropic, Gemini and Ollama,
//! whole or as a stream, and fails in the ways that endpoints do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::forms::{Form, body};

/// What the model says to one request.
#[derive(Debug, Clone)]
pub(crate) enum Say {
    /// Words, and that is all.
    Text(String),
    /// Native calls: a tool's name in the catalog, and its arguments.
    Calls(Vec<(String, Value)>),
    /// Words that the endpoint ended for their length.
    Cut(String),
    /// The same, a while later.
    Late(Duration, Box<Self>),
    /// A status, headers of it (`name: value`) and a body.
    Status(u16, Vec<String>, String),
    /// Status 200 and these bytes, whatever they are.
    Raw(String),
    /// The half of a right answer; then the connection ends.
    Half(Box<Self>),
    /// Nothing, and the connection stays.
    Silence,
    /// Nothing, and the connection ends.
    Close,
}

impl Say {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// One JSON object as text.
    pub(crate) fn json(value: &Value) -> Self {
        Self::Text(value.to_string())
    }

    pub(crate) fn call(tool: &str, arguments: Value) -> Self {
        Self::Calls(vec![(tool.to_owned(), arguments)])
    }

    pub(crate) fn status(code: u16) -> Self {
        Self::Status(code, Vec::new(), format!("{{\"error\":{{\"message\":\"it is {code}\"}}}}"))
    }

    pub(crate) fn late(self, by: Duration) -> Self {
        Self::Late(by, Box::new(self))
    }
}

/// One request that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) form: Form,
    /// Lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Seen {
    /// All that the model was shown, as text.
    pub(crate) fn shown(&self) -> String {
        self.body.to_string()
    }

    /// How many results of calls stand in the conversation.
    pub(crate) fn results(&self) -> usize {
        self.form.results(&self.body)
    }
}

type Script = dyn Fn(&Seen) -> Say + Send + Sync;

/// A model that serves until it is dropped.
pub(crate) struct Model {
    pub(crate) port: u16,
    script: Arc<Mutex<Arc<Script>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Model {
    /// Answers each request with what `script` makes of it.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Arc<Mutex<Arc<Script>>> = Arc::new(Mutex::new(Arc::new(script)));
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (say, kept) = (Arc::clone(&script), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(serve(stream, Arc::clone(&say), Arc::clone(&kept)));
            }
        });
        Self { port, script, seen, task }
    }

    /// Says these one after the other; what is asked beyond them is answered with status 418.
    pub(crate) async fn saying(says: impl IntoIterator<Item = Say>) -> Self {
        let model = Self::start(|_| Say::status(418)).await;
        model.now(says);
        model
    }

    /// From now on says these one after the other.
    pub(crate) fn now(&self, says: impl IntoIterator<Item = Say>) {
        let says: Mutex<VecDeque<Say>> = Mutex::new(says.into_iter().collect());
        self.by(move |_| says.lock().unwrap().pop_front().unwrap_or_else(|| Say::status(418)));
    }

    /// From now on says what this makes of a request.
    pub(crate) fn by(&self, script: impl Fn(&Seen) -> Say + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    /// The requests that came.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How many came.
    pub(crate) fn asked(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The endpoint as the configuration names it, for a form.
    pub(crate) fn url(&self, form: Form) -> String {
        format!("http://127.0.0.1:{}{}", self.port, form.base())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Requests of one connection, one after the other. A client that goes away is what some tests want.
async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<Arc<Script>>>,
    kept: Arc<Mutex<Vec<Seen>>>,
) {
    while let Some((head, asked)) = request(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let seen = Seen { form: Form::of(&path), head, body: asked };
        kept.lock().unwrap().push(seen.clone());
        let script = Arc::clone(&script.lock().unwrap());
        if !answer(&mut stream, &seen, (*script)(&seen)).await {
            return;
        }
    }
}

/// Answers; false when the connection ends with it.
async fn answer(stream: &mut TcpStream, seen: &Seen, say: Say) -> bool {
    let say = match say {
        Say::Late(by, say) => {
            tokio::time::sleep(by).await;
            *say
        }
        say => say,
    };
    let (status, headers, text) = match say {
        Say::Silence => return std::future::pending().await,
        Say::Close => return false,
        Say::Status(status, headers, text) => (status, headers, text),
        Say::Raw(text) => (200, vec!["content-type: application/json".to_owned()], text),
        Say::Half(say) => {
            let (kind, text) = body(seen, &say);
            let head = head(200, &[format!("content-type: {kind}")], text.len());
            let half = text.get(..text.floor_char_boundary(text.len() / 2)).unwrap();
            // The client may have gone already.
            drop(stream.write_all((head + half).as_bytes()).await);
            return false;
        }
        say => {
            let (kind, text) = body(seen, &say);
            (200, vec![format!("content-type: {kind}")], text)
        }
    };
    let all = head(status, &headers, text.len()) + &text;
    stream.write_all(all.as_bytes()).await.is_ok()
}

fn head(status: u16, headers: &[String], length: usize) -> String {
    let more: String = headers.iter().map(|one| format!("{one}\r\n")).collect();
    format!("HTTP/1.1 {status} Told\r\n{more}content-length: {length}\r\n\r\n")
}

/// The head of the next request, in lower case, and its JSON.
async fn request(stream: &mut TcpStream) -> Option<(String, Value)> {
    let (mut bytes, mut part) = (Vec::new(), vec![0; 64 << 10]);
    let end = b"\r\n\r\n";
    loop {
        if let Some(at) = bytes.windows(end.len()).position(|window| window == end) {
            let head = String::from_utf8_lossy(bytes.get(..at)?).to_lowercase();
            let length = head.split_once("content-length: ").map_or(0, |(_, rest)| {
                rest.split_whitespace().next().unwrap().parse::<usize>().unwrap()
            });
            let body = bytes.get(at + end.len()..)?;
            if body.len() >= length {
                return Some((head, serde_json::from_slice(body).unwrap_or_default()));
            }
        }
        match stream.read(&mut part).await {
            Ok(read) if read > 0 => bytes.extend(&part[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

//! Starts a runner as PID 1 of a namespace or of a container, and speaks the daemon's side.

use std::future::poll_fn;
use std::process::Stdio;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::io::{AsyncReadExt, AsyncWriteExt};
use switchboard_runner::{HEADER, Kind, Ready, Report, Request, Unheard, frame, parse_header};
use tokio::io::AsyncBufReadExt;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};
use yamux::{Config, Connection, Mode, Stream};

/// A running runner.
pub(crate) struct Sandbox {
    pub(crate) ready: Ready,
    pub(crate) process: Child,
    opens: mpsc::UnboundedSender<oneshot::Sender<Stream>>,
    egress: mpsc::UnboundedReceiver<Stream>,
    driver: JoinSet<()>,
}

/// What came back from one call.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) started: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Bytes of all given files.
    pub(crate) given: Vec<u8>,
    pub(crate) report: Option<Report>,
    pub(crate) elapsed: Duration,
}

impl Ran {
    /// The report; without one the test has failed.
    pub(crate) fn report(&self) -> &Report {
        self.report.as_ref().expect("the runner reports")
    }

    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A request that runs a shell script with sensible limits.
pub(crate) fn shell(script: &str) -> Request {
    Request {
        nonce: "n-1".into(),
        argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/dev/shm".into(),
        wall_ms: 10_000,
        output_bytes: 1 << 20,
        open_files: 64,
        file_bytes: 1 << 30,
        processes: None,
        memory_bytes: None,
        egress: false,
        last: true,
        take: Vec::new(),
        give: Vec::new(),
        give_bytes: 0,
    }
}

/// Starts the runner of this build as the first process of namespaces of its own.
pub(crate) async fn namespace() -> Sandbox {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "--mount-proc", "--net", "--kill-child"]);
    command.args([
        "--",
        "/bin/sh",
        "-c",
        "mount -t tmpfs -o size=1m,nr_inodes=500,mode=1777 none /dev/shm; exec \"$0\"",
    ]);
    command.arg(env!("CARGO_BIN_EXE_runner"));
    start(command).await
}

/// Starts the runner of an image, with the flags of `docker run`.
pub(crate) async fn container(image: &str, flags: &[&str]) -> Sandbox {
    let mut command = Command::new("docker");
    command.args(["run", "-i", "--rm", "--network=none", "--log-driver=none", "--read-only"]);
    command.args(["--cap-drop=ALL", "--cap-add=SETUID", "--cap-add=SETGID", "--cap-add=KILL"]);
    command.arg("--security-opt=no-new-privileges").args(flags).arg(image);
    start(command).await
}

async fn start(mut command: Command) -> Sandbox {
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the runner starts");
    let stdin = process.stdin.take().expect("piped");
    let mut stdout = tokio::io::BufReader::new(process.stdout.take().expect("piped"));
    let mut line = Vec::new();
    stdout.read_until(b'\n', &mut line).await.expect("a ready line");
    let ready = serde_json::from_slice(&line).expect("a ready line");
    let link = tokio::io::join(stdout, Unheard::new(stdin)).compat();
    let (opens, wanted) = mpsc::unbounded_channel();
    let (inbound, egress) = mpsc::unbounded_channel();
    let connection = Connection::new(link, Config::default(), Mode::Client);
    let mut driver = JoinSet::new();
    driver.spawn(drive(connection, wanted, inbound));
    Sandbox { ready, process, opens, egress, driver }
}

type Link = Compat<
    tokio::io::Join<
        tokio::io::BufReader<tokio::process::ChildStdout>,
        Unheard<tokio::process::ChildStdin>,
    >,
>;

async fn drive(
    mut connection: Connection<Link>,
    mut wanted: mpsc::UnboundedReceiver<oneshot::Sender<Stream>>,
    inbound: mpsc::UnboundedSender<Stream>,
) {
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(Some(sender)) = wanted.poll_recv(cx) {
                if let Poll::Ready(Ok(stream)) = connection.poll_new_outbound(cx) {
                    drop(sender.send(stream));
                }
                continue;
            }
            match connection.poll_next_inbound(cx) {
                Poll::Ready(Some(Ok(stream))) => drop(inbound.send(stream)),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
}

impl Sandbox {
    /// Opens a stream.
    pub(crate) async fn raw(&self) -> Stream {
        let (sender, opened) = oneshot::channel();
        self.opens.send(sender).expect("the driver runs");
        opened.await.expect("a stream")
    }

    /// Opens a stream and sends the request.
    pub(crate) async fn open(&self, request: &Request) -> Stream {
        let mut stream = self.raw().await;
        let text = serde_json::to_vec(request).expect("json");
        stream.write_all(&frame(Kind::Request, &text)).await.expect("sent");
        stream
    }

    /// Runs one call with this standard input.
    pub(crate) async fn call(&self, request: &Request, stdin: &[u8]) -> Ran {
        self.call_with(request, b"", stdin).await
    }

    /// Runs one call with the contents of its files, one after the other, and standard input.
    pub(crate) async fn call_with(&self, request: &Request, files: &[u8], stdin: &[u8]) -> Ran {
        let begun = Instant::now();
        let (mut reader, mut writer) = self.open(request).await.split();
        let feed = async {
            for piece in files.chunks(60_000) {
                writer.write_all(&frame(Kind::Take, piece)).await?;
            }
            for piece in stdin.chunks(60_000) {
                writer.write_all(&frame(Kind::Stdin, piece)).await?;
            }
            writer.write_all(&frame(Kind::StdinEnd, &[])).await
        };
        // A feed that the runner no longer reads must not hold the answer back.
        let (_, mut ran) = futures::future::join(
            async { tokio::time::timeout(Duration::from_secs(20), feed).await },
            collect(&mut reader),
        )
        .await;
        ran.elapsed = begun.elapsed();
        ran
    }

    /// The connections that tools make.
    pub(crate) fn connections(&mut self) -> mpsc::UnboundedReceiver<Stream> {
        std::mem::replace(&mut self.egress, mpsc::unbounded_channel().1)
    }

    /// Ends the connection as a daemon does that dies.
    pub(crate) fn hang_up(&mut self) {
        self.driver.abort_all();
    }

    /// Waits until the runner has ended.
    pub(crate) async fn gone(&mut self) -> std::process::ExitStatus {
        tokio::time::timeout(Duration::from_secs(20), self.process.wait())
            .await
            .expect("the runner ends")
            .expect("a status")
    }
}

/// Reads frames until the result or the end of the stream.
pub(crate) async fn collect(reader: &mut (impl futures::io::AsyncRead + Unpin)) -> Ran {
    let mut ran = Ran::default();
    loop {
        let mut header = [0; HEADER];
        if reader.read_exact(&mut header).await.is_err() {
            return ran;
        }
        let (kind, length) = parse_header(header).expect("a frame");
        let mut payload = vec![0; length];
        reader.read_exact(&mut payload).await.expect("a whole frame");
        match kind {
            Kind::Started => ran.started = true,
            Kind::Stdout => ran.stdout.extend(payload),
            Kind::Stderr => ran.stderr.extend(payload),
            Kind::Give => ran.given.extend(payload),
            Kind::Result => {
                ran.report = Some(serde_json::from_slice(&payload).expect("a report"));
                return ran;
            }
            other => panic!("{other:?} came from the runner"),
        }
    }
}

/// A call of the HTTP client, and what it reads from standard input.
pub(crate) fn fetch() -> (Request, &'static [u8]) {
    let mut request = shell("");
    request.argv = ["/runner", "http"].map(Into::into).to_vec();
    request.env.clear();
    (request.cwd, request.egress, request.last) = ("/".into(), true, false);
    let call = br#"{"method":"GET","url":"http://orders.test/1","headers":[],"body_base64":null}"#;
    (request, call)
}

/// Answers each connection like a gate with an upstream that knows one answer.
pub(crate) async fn gate(mut connections: mpsc::UnboundedReceiver<Stream>) {
    let mut answers = JoinSet::new();
    while let Some(mut stream) = connections.recv().await {
        answers.spawn(async move {
            let mut heard = Vec::new();
            while !heard.ends_with(b"\r\n\r\n") {
                let mut piece = [0; 4096];
                let read = stream.read(&mut piece).await.unwrap_or(0);
                if read == 0 {
                    return;
                }
                heard.extend_from_slice(&piece[..read]);
            }
            let answer =
                b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\n{\"id\": 1}\n";
            if stream.write_all(answer).await.is_ok() {
                drop(stream.close().await);
            }
        });
    }
}

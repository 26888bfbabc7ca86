//! What lies around the daemon in the suite's own network namespace: an authoritative name server and
//! services at public, private and metadata addresses. They log whoever reaches them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_util::task::TaskTracker;

/// What the gate knows, and nobody in a sandbox.
pub(crate) const SECRET: &str = "escape-key/4eC39HqLyjWDarjtT1zdp7dc";
/// The port of the host that gets it, and of one that does not; both say back what they get.
const ECHOES: [u16; 2] = [8181, 8182];
/// A public address, ours only in here.
pub(crate) const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
const METADATA_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0xa9fe, 0xa9fe);
const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 153);
const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

type Log = Arc<Mutex<Vec<String>>>;

/// The surroundings. Their logs only grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    /// Names that were asked for, with the type of the question.
    questions: Log,
    /// Of whoever sent a byte: address, first line and the host that was asked for.
    reached: Log,
    /// How often the rebinding name was asked for in this probe.
    turn: Arc<AtomicU32>,
}

impl World {
    /// Sets the namespace up and starts all of it.
    pub(crate) async fn open() -> Self {
        furnish();
        let (world, tasks) = (Self::default(), TaskTracker::new());
        let socket = UdpSocket::bind((NAME_SERVER, 53)).await.unwrap();
        tasks.spawn(world.clone().answer(socket));
        for address in [PUBLIC.into(), METADATA.into(), METADATA_6.into(), NAT64.into()] {
            for port in [80, 443] {
                let address = SocketAddr::new(address, port);
                let listener = TcpListener::bind(address).await.unwrap();
                tasks.spawn(world.clone().serve(listener, address));
            }
        }
        for port in ECHOES {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let listener = TcpListener::bind(address).await.unwrap();
            tasks.spawn(world.clone().serve(listener, address));
        }
        world
    }

    /// What was asked since, see [`World::mark`].
    pub(crate) fn questions(&self, since: Mark) -> Vec<String> {
        self.questions.lock().unwrap().iter().skip(since.0).cloned().collect()
    }

    /// Who was reached since.
    pub(crate) fn reached(&self, since: Mark) -> Vec<String> {
        self.reached.lock().unwrap().iter().skip(since.1).cloned().collect()
    }

    /// The beginning of a probe.
    pub(crate) fn mark(&self) -> Mark {
        self.turn.store(0, Ordering::SeqCst);
        Mark(self.questions.lock().unwrap().len(), self.reached.lock().unwrap().len())
    }

    async fn answer(self, socket: UdpSocket) {
        let mut buffer = [0; 1500];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
            let question = &buffer[..length];
            let (name, kind, end) = read_question(question);
            self.questions.lock().unwrap().push(format!("{name} {kind}"));
            if name == "rebind.test" && kind == A {
                self.turn.fetch_add(1, Ordering::SeqCst);
            }
            let turn = self.turn.load(Ordering::SeqCst);
            let records = records(&name, kind, turn);
            let mut answer = question[..2].to_vec();
            let found = if records.is_empty() && !is_known(&name) { 3 } else { 0 };
            answer.extend([0x85, found, 0, 1, 0, u8::try_from(records.len()).unwrap()]);
            answer.extend([0; 4]);
            answer.extend(&question[12..end]);
            for (owner, kind, data) in records {
                answer.extend(spell(&owner));
                answer.extend(kind.to_be_bytes());
                // Class IN, no time to live.
                answer.extend([0, 1, 0, 0, 0, 0]);
                answer.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
                answer.extend(data);
            }
            socket.send_to(&answer, peer).await.unwrap();
        }
    }

    async fn serve(self, listener: TcpListener, address: SocketAddr) {
        while let Ok((stream, _)) = listener.accept().await {
            TaskTracker::new().spawn(self.clone().greet(stream, address));
        }
    }

    async fn greet(self, mut stream: TcpStream, address: SocketAddr) {
        let mut head = vec![0; 4096];
        let read = stream.read(&mut head).await.unwrap_or_default();
        if read == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&head[..read]);
        let first = text.lines().next().unwrap_or_default();
        let host = text
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("host: ").map(str::to_owned));
        let tls = head[0] == 22;
        let line = match (tls, host) {
            (true, _) => "hello".to_owned(),
            (false, host) => format!("{first} {}", host.unwrap_or_default()),
        };
        self.reached.lock().unwrap().push(format!("{address} {line}"));
        if ECHOES.contains(&address.port()) {
            let held = text.lines().find(|line| line.to_lowercase().starts_with("authorization"));
            let held = held.unwrap_or_default();
            self.reached.lock().unwrap().push(format!("{address} {held}"));
            drop(stream.write_all(echo(held).as_bytes()).await);
            return;
        }
        let answer: &[u8] = if tls {
            b""
        } else if first.contains("/redirect") {
            b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached"
        };
        drop(stream.write_all(answer).await);
    }
}

/// Says a header back, in a header, a redirect's target, and the body in several spellings.
fn echo(held: &str) -> String {
    let value = held.split(' ').next_back().unwrap_or_default();
    let percent: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let hex = hex::encode(value);
    let body = format!("{held}\n{}\n{hex}\n{percent}\n", STANDARD.encode(value));
    let link = format!("<http://127.0.0.1/?{value}>");
    format!(
        "HTTP/1.1 200 OK\r\nx-echo: {held}\r\nlink: {link}\r\nconnection: close\r\n\
         content-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A moment in the logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(usize, usize);

/// Takes the addresses, and puts the name server in the place of the machine's.
fn furnish() {
    let run = |line: &str| {
        let mut words = line.split(' ');
        let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    };
    run("ip link set lo up");
    for address in [format!("{PUBLIC}/32"), format!("{METADATA}/32")] {
        run(&format!("ip address add {address} dev lo"));
    }
    for address in [METADATA_6, NAT64] {
        run(&format!("ip address add {address}/128 dev lo nodad"));
    }
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("escape-resolv.conf");
    std::fs::write(&file, format!("nameserver {NAME_SERVER}\n")).unwrap();
    run(&format!("mount --bind {} /etc/resolv.conf", file.display()));
}

fn is_known(name: &str) -> bool {
    !records(name, A, 1).is_empty() || !records(name, AAAA, 1).is_empty()
}

/// What the zone holds, as owner, type and data.
fn records(name: &str, kind: u16, turn: u32) -> Vec<(String, u16, Vec<u8>)> {
    let v4 = |addresses: &[Ipv4Addr]| match kind {
        A => addresses.iter().map(|a| (name.to_owned(), A, a.octets().to_vec())).collect(),
        _ => Vec::new(),
    };
    let v6 = |address: Ipv6Addr| match kind {
        AAAA => vec![(name.to_owned(), AAAA, address.octets().to_vec())],
        _ => Vec::new(),
    };
    let private = Ipv4Addr::LOCALHOST;
    match name {
        "allowed.test" => v4(&[PUBLIC]),
        "rebind.test" if turn <= 1 => v4(&[PUBLIC]),
        "rebind.test" => v4(&[private]),
        "both.test" => v4(&[private, PUBLIC]),
        "meta.test" => v4(&[METADATA]),
        "meta6.test" => v6(METADATA_6),
        "nat64.test" => v6(NAT64),
        "mapped.test" => v6(METADATA.to_ipv6_mapped()),
        "cname.test" => chain(kind, private),
        _ if name.ends_with(".wild.test") => v4(&[PUBLIC]),
        _ => Vec::new(),
    }
}

/// A long way round to a private address.
fn chain(kind: u16, end: Ipv4Addr) -> Vec<(String, u16, Vec<u8>)> {
    let step = |n: u32| if n == 0 { "cname.test".to_owned() } else { format!("c{n}.test") };
    let mut found: Vec<_> = (0..8).map(|n| (step(n), CNAME, spell(&step(n + 1)))).collect();
    if kind == A {
        found.push((step(8), A, IpAddr::V4(end).to_string().split('.').map(byte).collect()));
    }
    found
}

fn byte(text: &str) -> u8 {
    text.parse().unwrap()
}

fn spell(name: &str) -> Vec<u8> {
    let mut spelled = Vec::new();
    for label in name.split('.') {
        spelled.push(u8::try_from(label.len()).unwrap());
        spelled.extend(label.as_bytes());
    }
    spelled.push(0);
    spelled
}

/// Name and type of the first question, and where it ends.
fn read_question(message: &[u8]) -> (String, u16, usize) {
    let (mut at, mut labels) = (12, Vec::new());
    while message[at] != 0 {
        let end = at + 1 + usize::from(message[at]);
        labels.push(String::from_utf8_lossy(&message[at + 1..end]).to_lowercase());
        at = end;
    }
    let kind = u16::from_be_bytes([message[at + 1], message[at + 2]]);
    (labels.join("."), kind, at + 5)
}

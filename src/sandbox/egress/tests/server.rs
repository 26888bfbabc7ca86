//! A name server of the tests, on loopback over UDP and TCP, that answers as it is told, also
//! wrongly, and keeps what it was asked.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

/// One record of an answer: its owner, and what it says.
#[derive(Clone)]
pub(super) enum Record {
    At(String, IpAddr),
    Alias(String, String),
}

/// How the server answers a question.
#[derive(Clone)]
pub(super) enum Said {
    Records(Vec<Record>),
    /// Cut off over UDP; over TCP these records.
    Cut(Vec<Record>),
    /// Cut off over UDP; over TCP the connection ends.
    CutOff,
    /// Under another id, and to another question, before the right one comes.
    Spoofed(Vec<Record>, Vec<Record>),
    Silence,
}

type Script = Arc<dyn Fn(&str, u16) -> Said + Send + Sync>;

pub(super) struct NameServer {
    pub(super) address: SocketAddr,
    asked: Mutex<Vec<String>>,
    script: Script,
}

pub(super) const A: u16 = 1;
pub(super) const AAAA: u16 = 28;

impl NameServer {
    pub(super) fn start(script: impl Fn(&str, u16) -> Said + Send + Sync + 'static) -> Arc<Self> {
        let (udp, tcp) = bind();
        let address = udp.local_addr().unwrap();
        let server = Arc::new(Self { address, asked: Mutex::default(), script: Arc::new(script) });
        let shared = Arc::clone(&server);
        thread::spawn(move || {
            let mut bytes = [0; 2048];
            while let Ok((length, from)) = udp.recv_from(&mut bytes) {
                for answer in shared.answer(&bytes[..length], false) {
                    udp.send_to(&answer, from).unwrap();
                }
            }
        });
        let shared = Arc::clone(&server);
        thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut bytes).unwrap();
                    let Some(answer) = shared.answer(&bytes, true).pop() else { break };
                    let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                    stream.write_all(&[&length, &answer[..]].concat()).unwrap();
                }
            }
        });
        server
    }

    /// Every address record of `name`, for both types.
    pub(super) fn fixed(addresses: &[&str]) -> Arc<Self> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Self::start(move |name, kind| Said::Records(of_kind(name, &addresses, kind)))
    }

    /// The questions so far, as `name type`.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn answer(&self, question: &[u8], tcp: bool) -> Vec<Vec<u8>> {
        let (name, end) = read_name(question);
        let kind = u16::from_be_bytes([question[end], question[end + 1]]);
        self.asked.lock().unwrap().push(format!("{name} {kind}"));
        let question = &question[..end + 4];
        match (self.script)(&name, kind) {
            Said::Silence => Vec::new(),
            Said::CutOff if tcp => Vec::new(),
            Said::Cut(records) if tcp => vec![message(question, 0x8180, &records)],
            Said::Cut(_) | Said::CutOff => vec![message(question, 0x8380, &[])],
            Said::Records(records) => vec![message(question, 0x8180, &records)],
            Said::Spoofed(wrong, right) => {
                let mut other_id = message(question, 0x8180, &wrong);
                other_id[0] ^= 0xff;
                let mut other_name = message(question, 0x8180, &wrong);
                other_name[13] ^= 1;
                vec![other_id, other_name, message(question, 0x8180, &right)]
            }
        }
    }
}

/// The records of `addresses` that a question of `kind` asks for.
pub(super) fn of_kind(name: &str, addresses: &[IpAddr], kind: u16) -> Vec<Record> {
    let fits = |address: &&IpAddr| (kind == A) == address.is_ipv4();
    addresses.iter().filter(fits).map(|address| Record::At(name.to_owned(), *address)).collect()
}

fn bind() -> (UdpSocket, TcpListener) {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
}

/// The name in a question, lower case, and where it ends.
fn read_name(question: &[u8]) -> (String, usize) {
    let (mut at, mut labels) = (12, Vec::new());
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..=at + length]).to_lowercase());
        at += length + 1;
    }
    (labels.join("."), at + 1)
}

fn write_name(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn message(question: &[u8], flags: u16, records: &[Record]) -> Vec<u8> {
    let mut bytes = question[..2].to_vec();
    let count = u16::try_from(records.len()).unwrap();
    for number in [flags, 1, count, 0, 0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(&question[12..]);
    for record in records {
        let (owner, kind, data) = match record {
            Record::At(owner, IpAddr::V4(v4)) => (owner, A, v4.octets().to_vec()),
            Record::At(owner, IpAddr::V6(v6)) => (owner, AAAA, v6.octets().to_vec()),
            Record::Alias(owner, target) => (owner, 5, write_name(target)),
        };
        bytes.extend(write_name(owner));
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 0, 0]);
        bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(data);
    }
    bytes
}

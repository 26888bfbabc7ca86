//! References to other hosts: fetched only when the source names the host, and never beyond it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::catalog::openapi::{self, Allowed, Origin, Read, Settings};

/// A server on loopback that answers by path, and counts.
struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    /// `answers`: path, and head and body of its answer. `PORT` in them is the server's own.
    fn start(answers: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(AtomicUsize::new(0));
        let known: Vec<(&str, String)> = answers
            .iter()
            .map(|(path, answer)| (*path, answer.replace("PORT", &port.to_string())))
            .collect();
        let (count, known) = (Arc::clone(&asked), Mutex::new(known));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                answer(stream, &known.lock().unwrap());
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(mut stream: TcpStream, known: &[(&'static str, String)]) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let found = known.iter().find(|(known, _)| *known == path);
    let text = found.map_or("404 Not Found\r\n\r\n", |(_, answer)| answer.as_str());
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let whole = format!(
        "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(whole.as_bytes()).ok();
}

/// A document in which each operation's parameter has one of these schemas.
fn document(references: &[String]) -> String {
    let mut text = String::from(
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://a.example'}]\npaths:\n  /good: {get: {operationId: good}}\n",
    );
    for (index, reference) in references.iter().enumerate() {
        text.push_str(&format!("  /p{index}: {{get: {{operationId: p{index}, parameters: [{{name: x, in: query, schema: {{$ref: '{reference}'}}}}]}}}}\n"));
    }
    text
}

fn read(references: &[String], allowed: &[String]) -> Read {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.yaml");
    std::fs::write(&path, document(references)).unwrap();
    let references = Allowed::parse(allowed).unwrap();
    openapi::read(&Origin::File(path), &Settings { references, ..Settings::default() })
}

const MONEY: &str = "200 OK\r\nContent-Type: application/json\r\n\r\n{\"Money\": {\"type\": \"string\", \"maxLength\": 9}, \"Pair\": {\"type\": \"array\", \"items\": {\"$ref\": \"other.json#/Money\"}}}";

#[test]
fn a_host_that_the_source_names_is_asked_once_for_each_file() {
    let server = Server::start(&[("/money.json", MONEY), ("/other.json", MONEY)]);
    let own = |end: &str| format!("http://127.0.0.1:{}/{end}", server.port);
    let references = [own("money.json#/Money"), own("money.json#/Pair"), own("money.json#/Money")];
    let allowed = [format!("http://127.0.0.1:{}", server.port)];
    let Read { found, report, inputs } = read(&references, &allowed);
    assert_eq!(found.len(), 4, "{report:#?}");
    assert_eq!(found[1].draft.input_schema["properties"]["x"]["maxLength"], 9);
    assert_eq!(server.asked(), 2, "each file once, relative references from where they stand");
    assert!(inputs.is_none(), "what came from elsewhere is not cached");
}

#[test]
fn what_is_on_loopback_is_named_by_host_and_port_and_asked_by_http() {
    let server = Server::start(&[("/money.json", MONEY)]);
    for host in ["127.0.0.1", "localhost"] {
        let place = format!("{host}:{}", server.port);
        let references = [format!("http://{place}/money.json#/Money")];
        let Read { report, .. } = read(&references, &[]);
        let mend = format!("references = [\"{place}\"]");
        assert!(report.skipped[0].reason.contains(&mend), "{report:#?}");
        let Read { found, report, .. } = read(&references, std::slice::from_ref(&place));
        assert_eq!(found.len(), 2, "{report:#?}");
    }
    assert_eq!(server.asked(), 4, "the file, and the one that it refers to");
}

#[test]
fn without_its_name_no_host_is_asked_and_only_its_operations_are_lost() {
    let server = Server::start(&[("/money.json", MONEY)]);
    let references: Vec<String> = [
        format!("http://127.0.0.1:{}/money.json#/Money", server.port),
        format!("//127.0.0.1:{}/money.json", server.port),
        "file:///etc/hostname".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "\\\\host\\share\\x.yaml".to_owned(),
        "%2f%2fhost/x.yaml".to_owned(),
        "file%3A///etc/hostname.json".to_owned(),
        "ftp://a.example/x.json".to_owned(),
    ]
    .into();
    // A host on another port, and another scheme, are other places.
    let allowed = ["schemas.example", "127.0.0.1", "127.0.0.1:1"].map(str::to_owned);
    let secure = format!("https://127.0.0.1:{}", server.port);
    let allowed = [&allowed[..], &[secure]].concat();
    for allowed in [&allowed[..0], &allowed[..]] {
        let Read { found, report, .. } = read(&references, allowed);
        assert_eq!(found.len(), 1, "{report:#?}");
        for (skipped, reference) in report.skipped.iter().zip(&references) {
            assert!(skipped.reason.contains(reference), "{skipped:?}");
        }
        assert_eq!(report.skipped.len(), references.len());
    }
    assert_eq!(server.asked(), 0);
}

#[test]
fn redirects_are_held_to_the_same_rule() {
    let server = Server::start(&[
        ("/here.json", "302 Found\r\nLocation: /money.json\r\n\r\n"),
        ("/money.json", MONEY),
        ("/inside.json", "302 Found\r\nLocation: http://169.254.169.254/latest/x.json\r\n\r\n"),
        ("/away.json", "302 Found\r\nLocation: https://elsewhere.example/x.json\r\n\r\n"),
        ("/loop.json", "302 Found\r\nLocation: /loop.json\r\n\r\n"),
    ]);
    let own = |end: &str| format!("http://127.0.0.1:{}/{end}", server.port);
    let references = ["here.json#/Money", "inside.json", "away.json", "loop.json", "none.json"];
    let references = references.map(own);
    let Read { found, report, .. } = read(&references, &[own("")]);
    assert_eq!(found.len(), 2, "{report:#?}");
    let reasons: Vec<&str> = report.skipped.iter().map(|one| one.reason.as_str()).collect();
    assert!(reasons[0].contains("169.254.169.254"), "{reasons:?}");
    assert!(reasons[1].contains("elsewhere.example"), "{reasons:?}");
    assert!(reasons[2].contains("more than 3 times"), "{reasons:?}");
    assert!(reasons[3].contains("404"), "{reasons:?}");
}

#[test]
fn a_remote_file_cannot_lead_to_local_ones_or_grow_without_bound() {
    let local = "200 OK\r\n\r\n{\"a\": {\"$ref\": \"file:///etc/hostname\"}, \"b\": {\"$ref\": \"../../x.json\"}}";
    let server = Server::start(&[
        ("/local.json", local),
        ("/text.json", "200 OK\r\n\r\n{ not json"),
        ("/packed.json", "200 OK\r\nContent-Encoding: gzip\r\n\r\nxx"),
    ]);
    let own = |end: &str| format!("http://127.0.0.1:{}/{end}", server.port);
    let references =
        [own("local.json#/a"), own("local.json#/b"), own("text.json"), own("packed.json")];
    let Read { found, report, .. } = read(&references, &[own("")]);
    assert_eq!((found.len(), report.skipped.len()), (1, 4), "{report:#?}");
    assert!(report.skipped[0].reason.contains("file:///etc/hostname"), "{report:#?}");
    assert!(report.skipped[3].reason.contains("compressed"), "{report:#?}");
}

#[test]
fn a_document_may_itself_lie_at_an_address_that_the_operator_gives() {
    let main = "200 OK\r\n\r\n{\"openapi\": \"3.0.3\", \"info\": {\"title\": \"T\", \"version\": \"1\"}, \"servers\": [{\"url\": \"http://127.0.0.1:PORT/api\"}], \"paths\": {\"/x\": {\"get\": {\"operationId\": \"x\", \"parameters\": [{\"name\": \"m\", \"in\": \"query\", \"schema\": {\"$ref\": \"money.json#/Money\"}}]}}}}";
    let server = Server::start(&[("/docs/main.json", main), ("/docs/money.json", MONEY)]);
    let url = format!("http://127.0.0.1:{}/docs/main.json", server.port);
    let origin = Origin::Url(Origin::url(&url).unwrap().unwrap());
    let Read { found, report, .. } = openapi::read(&origin, &Settings::default());
    assert_eq!(found.len(), 1, "{report:#?}");
    assert_eq!(found[0].draft.input_schema["properties"]["m"]["maxLength"], 9);
    for wrong in ["http://a.example/x.json", "https://u:p@a.example/x.json", "https://"] {
        assert!(Origin::url(wrong).unwrap().is_err(), "{wrong}");
    }
    assert!(Origin::url("openapi/x.yaml").is_none());
}

#[test]
fn places_are_hosts_and_nothing_more() {
    for good in [
        "localhost:80",
        "[::1]:80",
        "schemas.example",
        "schemas.example:8443",
        "http://127.0.0.1:80",
        "10.0.0.5",
    ] {
        assert!(Allowed::parse(&[good.to_owned()]).is_ok(), "{good}");
    }
    for bad in ["http://schemas.example", "schemas.example/x", "file:///x", "u@h", "", "a b"] {
        assert!(Allowed::parse(&[bad.to_owned()]).is_err(), "{bad}");
    }
}

#[test]
fn metadata_addresses_are_refused_even_by_name() {
    let references = ["https://169.254.169.254/latest/x.json".to_owned()];
    let Read { report, .. } = read(&references, &["169.254.169.254".to_owned()]);
    assert!(report.skipped[0].reason.contains("metadata service"), "{report:#?}");
}

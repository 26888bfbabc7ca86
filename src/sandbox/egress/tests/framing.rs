//! Messages that two parsers could read differently, and hellos in pieces.

use switchboard_runner::chunked::{Decoder, Piece};

use super::super::hello;
use super::{Trail, ask, hello as answer_hello, limits, open, rule};

#[tokio::test]
async fn ambiguous_messages_never_reach_the_upstream() {
    let target = answer_hello("no");
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    let bad = [
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
        "POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "POST {} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\x0b: chunked\r\n\r\n0\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        "GET {} HTTP/1.1\r\n Host: x\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\nX: a\r\n\r\n",
        "GET {} HTTP/1.1\nHost: x\n\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET {} HTTP/1.1\r\nX: y\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nConnection: content-length\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Host\r\n\r\n",
        "GET {} HTTP/2.0\r\nHost: x\r\n\r\n",
        "GET {}\r\n\r\n",
        "G@T {} HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: api.test\r\n\r\n",
        "GET ftp://api.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET {}#a HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET {}ä HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET {} HTTP/1.1\r\nHost: x",
        "CONNECT api.test:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\0",
    ];
    for text in bad {
        let trail = Trail::default();
        let text = text.replace("{}", &format!("http://api.test:{port}/"));
        let answer = ask(&gate, &trail, &text).await;
        let refused = answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 505 ");
        assert!(refused, "{text:?}: {answer}");
        let attempts = trail.attempts();
        assert_eq!(attempts.len(), 1, "{text:?}");
        assert!(!attempts[0].allowed, "{text:?}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn heads_are_bounded() {
    let gate = open(&[], limits());
    let many = "X: y\r\n".repeat(200);
    let wide = "a".repeat(100_000);
    for headers in [many, format!("X: {wide}\r\n")] {
        let trail = Trail::default();
        let text = format!("GET http://a.test/ HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        let answer = ask(&gate, &trail, text).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test]
async fn broken_chunks_break_the_exchange_off() {
    let target = answer_hello("no");
    let port = target.port;
    let gate = open(&[rule("api.test", port)], limits());
    for body in [
        "3\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n",
        "-3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n",
        "3 x\r\nabc\r\n0\r\n\r\n",
        "\r\nabc\r\n0\r\n\r\n",
        "11111111111111111\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\r\n",
        "3\r\nab",
    ] {
        let trail = Trail::default();
        let text = format!(
            "POST http://api.test:{port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{body}"
        );
        let answer = ask(&gate, &trail, text).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{body:?}: {answer}");
        assert!(!trail.attempts()[0].reason.is_empty());
    }
    assert!(target.heard().is_empty(), "no message was complete");
}

#[test]
fn chunks_are_decoded_from_pieces_of_any_size() {
    let wire =
        b"4;a=\"b\"\r\nWiki\r\n6\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nX: y\r\n\r\nNEXT";
    for size in 1..wire.len() {
        let (mut decoder, mut input, mut body) = (Decoder::default(), Vec::new(), Vec::new());
        let mut pieces = wire.chunks(size);
        loop {
            match decoder.next(&input).unwrap() {
                Piece::Skip(bytes) => drop(input.drain(..bytes)),
                Piece::Data(bytes) => body.extend(input.drain(..bytes)),
                Piece::More => input.extend_from_slice(pieces.next().unwrap()),
                Piece::End => break,
            }
        }
        assert_eq!(body, b"Wikipedia in \r\n\r\nchunks.", "{size}");
        let rest: Vec<u8> = input.into_iter().chain(pieces.flatten().copied()).collect();
        assert_eq!(rest, b"NEXT");
    }
}

/// A hello with these extensions, cut into records of `size` bytes.
fn build_hello(extensions: &[(u16, Vec<u8>)], size: usize) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, data) in extensions {
        list.extend(kind.to_be_bytes());
        list.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        list.extend(data);
    }
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(u16::try_from(list.len()).unwrap().to_be_bytes());
    body.extend(list);
    let mut message = vec![1, 0];
    message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    message.extend(body);
    let mut wire = Vec::new();
    for piece in message.chunks(size) {
        wire.extend([22, 3, 1]);
        wire.extend(u16::try_from(piece.len()).unwrap().to_be_bytes());
        wire.extend(piece);
    }
    wire
}

fn server_name(name: &str) -> (u16, Vec<u8>) {
    let length = u16::try_from(name.len()).unwrap();
    let mut data = (length + 3).to_be_bytes().to_vec();
    data.push(0);
    data.extend(length.to_be_bytes());
    data.extend(name.as_bytes());
    (0, data)
}

#[test]
fn a_hello_is_read_however_it_is_cut() {
    let extensions = [(10, vec![0, 2, 0, 29]), server_name("api.test")];
    for size in [1, 2, 3, 4, 5, 50, 10_000] {
        let wire = build_hello(&extensions, size);
        for end in 0..wire.len() {
            assert_eq!(hello::parse(&wire[..end]), Ok(None), "{size} {end}");
        }
        let found = hello::parse(&wire).unwrap().unwrap();
        assert_eq!(found.name.as_deref(), Some("api.test"));
    }
}

#[test]
fn hellos_that_hide_or_double_their_name_are_refused() {
    let name = server_name("api.test");
    let two_in_list = {
        let (_, mut data) = server_name("api.test");
        data.extend(&data.clone()[2..]);
        let length = u16::try_from(data.len() - 2).unwrap().to_be_bytes();
        data[..2].copy_from_slice(&length);
        (0, data)
    };
    for extensions in [
        vec![name.clone(), server_name("evil.test")],
        vec![name.clone(), (0xfe0d, vec![0])],
        vec![name, (0xffce, vec![0])],
        vec![two_in_list],
        vec![(0, vec![])],
    ] {
        assert!(hello::parse(&build_hello(&extensions, 9999)).is_err(), "{extensions:?}");
    }
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"\x16\x02\x00\x00\x01\x01",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\x00\x01\x02",
        b"\x80\x2e\x01\x03\x01",
        b"SSH-2.0-x\r\n",
    ] {
        assert!(hello::parse(bytes).is_err(), "{bytes:?}");
    }
    let found = hello::parse(&build_hello(&[], 9999)).unwrap().unwrap();
    assert_eq!(found.name, None);
}

//! What the daemon hears of a runner: frames in, the report or why there is none out. No engine.

use std::time::Duration;

use switchboard_runner::{Exit, Given, Kind, Report, Request, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::parts::report;
use crate::sandbox::exchange::{Heard, Parcel, Silence, exchange};
use crate::sandbox::teller::Teller;
use crate::sandbox::{Error, Event};

fn request(output: u64) -> Request {
    Request {
        nonce: "n".to_owned(),
        argv: vec!["true".to_owned()],
        env: Vec::new(),
        cwd: "/tmp".to_owned(),
        wall_ms: 1000,
        output_bytes: output,
        open_files: 64,
        file_bytes: 64,
        processes: None,
        memory_bytes: None,
        egress: false,
        last: true,
        take: Vec::new(),
        give: Vec::new(),
        give_bytes: 0,
    }
}

const BOUND: Duration = Duration::from_secs(5);

async fn hear(bytes: Vec<u8>) -> (Result<Report, Silence>, Heard) {
    let (ours, mut theirs) = tokio::io::duplex(1 << 20);
    theirs.write_all(&bytes).await.unwrap();
    theirs.shutdown().await.unwrap();
    let parcel = Parcel::pack(request(8), b"", &[]).unwrap();
    let mut heard = Heard::default();
    let said = exchange(ours, &parcel, BOUND, &mut Teller::new(None), &mut heard).await;
    (said, heard)
}

fn result(nonce: &str) -> Vec<u8> {
    let report = Report { nonce: nonce.to_owned(), ..report(Exit::Code(0)) };
    frame(Kind::Result, &serde_json::to_vec(&report).unwrap())
}

#[tokio::test]
async fn only_the_wanted_files_come_in_and_no_more_bytes_than_may() {
    let wanted = |bytes: &[u8], given: &[(&str, u64)]| {
        let given = given.iter().map(|(name, bytes)| Given {
            name: (*name).to_owned(),
            bytes: *bytes,
            refused: None,
        });
        let report = Report { given: given.collect(), ..report(Exit::Code(0)) };
        let mut frames = frame(Kind::Give, bytes);
        frames.extend(frame(Kind::Result, &serde_json::to_vec(&report).unwrap()));
        frames
    };
    for (bytes, given, fits) in [
        (&b"12345678"[..], &[("a", 3), ("b", 5)][..], true),
        (b"123456789", &[("a", 4), ("b", 5)], false),
        (b"1234", &[("a", 3), ("b", 5)], false),
        (b"12345678", &[("a", 3), ("b", 4)], false),
        (b"12345678", &[("a", 3), ("c", 5)], false),
        (b"12345678", &[("a", 8)], false),
    ] {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        theirs.write_all(&wanted(bytes, given)).await.unwrap();
        let mut request = request(8);
        request.give = vec!["a".to_owned(), "b".to_owned()];
        request.give_bytes = 8;
        let parcel = Parcel::pack(request, b"", &[]).unwrap();
        let mut heard = Heard::default();
        let said = exchange(ours, &parcel, BOUND, &mut Teller::new(None), &mut heard).await;
        assert_eq!(said.is_ok(), fits, "{given:?} {said:?}");
        let contents: Vec<_> = heard.given.iter().map(|file| file.content.clone()).collect();
        let expected = [Ok("123".into()), Ok("45678".into())];
        assert_eq!(contents, if fits { &expected[..] } else { &[] });
    }
}

#[tokio::test]
async fn a_runner_that_sends_more_than_the_cap_is_heard_no_further() {
    let mut bytes = frame(Kind::Started, b"");
    bytes.extend(frame(Kind::Stdout, b"123456"));
    bytes.extend(frame(Kind::Stderr, b"abcdef"));
    bytes.extend(frame(Kind::Stdout, b"789"));
    bytes.extend(result("n"));
    let (said, heard) = hear(bytes).await;
    assert_eq!(said, Err(Silence::Flood));
    assert!(heard.started);
    assert_eq!((&heard.stdout[..], &heard.stderr[..]), (&b"123456"[..], &b"ab"[..]));
}

#[tokio::test]
async fn whatever_is_not_the_protocol_is_a_lost_sandbox() {
    let broken: [Vec<u8>; 7] = [
        Vec::new(),
        frame(Kind::Started, b""),
        b"\x63\0\0\0\0".to_vec(),
        b"\x05\xff\xff\xff\xff".to_vec(),
        frame(Kind::Request, b"{}"),
        frame(Kind::Result, b"{"),
        result("of another call"),
    ];
    for bytes in broken {
        let (said, _) = hear(bytes.clone()).await;
        assert!(
            matches!(said, Err(Silence::Gone(_) | Silence::Broken(_))),
            "{bytes:?} gave {said:?}"
        );
    }
}

#[tokio::test]
async fn a_large_input_does_not_block_a_tool_that_answers_as_it_reads() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let input = vec![7_u8; 3 << 20];
    let parcel = Parcel::pack(request(1 << 30), &input, &[]).unwrap();
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let echo = async move {
        let mut count = 0;
        loop {
            let mut header = [0; 5];
            reader.read_exact(&mut header).await.unwrap();
            let (kind, length) = switchboard_runner::parse_header(header).unwrap();
            let mut payload = vec![0; length];
            reader.read_exact(&mut payload).await.unwrap();
            match kind {
                Kind::Stdin => {
                    count += length;
                    writer.write_all(&frame(Kind::Stdout, &payload)).await.unwrap();
                }
                Kind::StdinEnd => break,
                _ => {}
            }
        }
        writer.write_all(&result("n")).await.unwrap();
        (count, writer)
    };
    let (mut heard, mut teller) = (Heard::default(), Teller::new(None));
    let (said, (count, _writer)) =
        tokio::join!(exchange(ours, &parcel, BOUND, &mut teller, &mut heard), echo);
    assert!(said.is_ok());
    assert_eq!(count, input.len());
    assert_eq!(heard.stdout, input);
}

#[tokio::test]
async fn a_listener_that_does_not_read_holds_nothing_back_and_gets_it_all_later() {
    let (ours, mut theirs) = tokio::io::duplex(1 << 20);
    let mut bytes = frame(Kind::Started, b"");
    for _ in 0..4 {
        bytes.extend(frame(Kind::Stdout, b"x"));
        bytes.extend(frame(Kind::Stderr, b"y"));
    }
    bytes.extend(result("n"));
    theirs.write_all(&bytes).await.unwrap();
    let (events, mut listener) = tokio::sync::mpsc::channel(4);
    let parcel = Parcel::pack(request(8), b"", &[]).unwrap();
    let (mut heard, mut teller) = (Heard::default(), Teller::new(Some(events)));
    let said = exchange(ours, &parcel, BOUND, &mut teller, &mut heard).await;
    assert!(said.is_ok());
    drop(teller);
    let mut all = Vec::new();
    while let Some(event) = listener.recv().await {
        all.push(event);
    }
    let told = [
        Event::Started,
        Event::Stdout("x".into()),
        Event::Stdout("xxx".into()),
        Event::Stderr("yyyy".into()),
    ];
    assert_eq!(all, told);
}

#[test]
fn a_command_line_beyond_one_frame_is_refused() {
    let mut huge = request(8);
    huge.argv.push("x".repeat(2 << 20));
    assert!(matches!(Parcel::pack(huge, b"", &[]), Err(Error::Argument { .. })));
}

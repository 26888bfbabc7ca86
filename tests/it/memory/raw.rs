//! Bytes that no client library sends: text that is no UTF-8, messages that break off. Each is a status
//! that names the field, and what came before it in the same stream is kept.

use bytes::{Buf, BufMut};
use prost::Message;
use switchboard::proto::memory::{
    GetReceiptRequest, RememberManyRequest, RememberManyResponse, RememberRequest, Stage,
    remember_many_response::written::Outcome,
};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::bed::{Bed, fields, ticket};

/// Messages as they stand.
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).to_vec()))
    }
}

const MARK: &str = "~~~~~~";

/// The same message with bytes that are no UTF-8 in the place of the mark.
fn broken(message: &impl Message) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    let at = bytes.windows(MARK.len()).position(|part| part == MARK.as_bytes()).unwrap();
    bytes[at..at + MARK.len()].copy_from_slice(b"\xff\xfe\xc3\x28\xed\xa0");
    bytes
}

fn path(method: &str) -> PathAndQuery {
    format!("/switchboard.memory.v1.MemoryService/{method}").parse().unwrap()
}

async fn sender(bed: &Bed) -> Grpc<Channel> {
    let mut grpc = Grpc::new(bed.daemon.channel().await);
    grpc.ready().await.unwrap();
    grpc
}

fn signed<T>(bed: &Bed, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let token = format!("Bearer {}", bed.token("agent")).parse().unwrap();
    request.metadata_mut().insert("authorization", token);
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_no_utf_8_is_refused_with_its_field() {
    let bed = Bed::new().await;
    let fine = RememberRequest {
        draft: Some(ticket("U-1", &format!("The fan {MARK} hums."))),
        wait: true,
        ..RememberRequest::default()
    };
    let mut cut = fine.encode_to_vec();
    cut.truncate(cut.len() - 9);
    let id = RememberRequest { draft: Some(ticket(MARK, "The fan hums.")), ..fine.clone() };
    let cases = [
        (broken(&fine), "Draft.text"),
        (broken(&id), "Draft.source_id"),
        (cut, "RememberRequest.draft"),
    ];
    for (bytes, field) in cases {
        let mut grpc = sender(&bed).await;
        let sent = grpc.unary(signed(&bed, bytes), path("Remember"), Bytes).await;
        let refused = sent.unwrap_err();
        assert_eq!(refused.code(), Code::Internal, "{refused:?}");
        assert!(refused.message().contains(field), "{field}: {refused:?}");
    }
    let kept = bed.try_recall("agent", "fan hums").await.unwrap();
    assert!(kept.hits.is_empty(), "{kept:?}");
    // What is UTF-8 and no text is for the gate.
    for (text, code) in [("A fan\u{0} hums.", "U+0000"), ("A fan\u{1b}[2J hums.", "U+001B")] {
        let refused = bed.try_remember("agent", ticket("U-2", text)).await.unwrap_err();
        assert_eq!(fields(&refused), ["/text"], "{refused:?}");
        assert!(refused.message().contains(code), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_keeps_what_was_acknowledged() {
    let bed = Bed::new().await;
    let one = |id: &str, text: &str| RememberManyRequest {
        draft: Some(ticket(id, text)),
        images: Vec::new(),
    };
    let messages = [
        one("S-1", "The fan F1 hums.").encode_to_vec(),
        broken(&one("S-2", &format!("The fan {MARK} hums."))),
        one("S-3", "The fan F3 hums.").encode_to_vec(),
    ];
    let sent = signed(&bed, tokio_stream::iter(messages));
    let mut grpc = sender(&bed).await;
    let mut answers = grpc.streaming(sent, path("RememberMany"), Bytes).await.unwrap().into_inner();
    let mut receipts = Vec::new();
    let ended = loop {
        match answers.message().await {
            Ok(Some(bytes)) => {
                let answer = RememberManyResponse::decode(bytes.as_slice()).unwrap();
                receipts.extend(answer.written.into_iter().map(|one| match one.outcome {
                    Some(Outcome::Receipt(receipt)) => receipt.id,
                    other => panic!("{other:?}"),
                }));
            }
            Ok(None) => panic!("it did not break"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::Internal, "{ended:?}");
    assert!(ended.message().contains("Draft.text"), "{ended:?}");
    let [first] = receipts.as_slice() else { panic!("{receipts:?}") };
    let asked = GetReceiptRequest { receipt_id: first.clone(), wait_ms: 10_000 };
    let kept = bed.client("agent").await.get_receipt(asked).await.unwrap().into_inner();
    assert_eq!(kept.stage(), Stage::Stored, "{kept:?}");
    assert_eq!(bed.try_recall("agent", "fan hums").await.unwrap().hits.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_names_the_line_that_is_no_text_or_too_long() {
    let bed = Bed::new().await;
    let file = bed.daemon.folder().join("units.jsonl");
    let line = |id: &str, text: &str| {
        serde_json::json!({
            "collection": "tickets", "source": "desk/two", "source_id": id, "kind": "case",
            "text": text, "metadata": { "line": "PX" },
        })
        .to_string()
        .into_bytes()
    };
    let mut wrong = line("2", "The fan F2 ~ hums.");
    let at = wrong.iter().position(|byte| *byte == b'~').unwrap();
    wrong[at] = 0xff;
    let lines = [
        line("1", "The fan F1 hums."),
        wrong,
        line("3", &"Far too long. ".repeat(4 << 20)),
        line("4", "The fan F4 is unbalanced."),
    ];
    std::fs::write(&file, lines.join(&b'\n')).unwrap();
    let path = file.display().to_string();
    let whole = bed.cli("agent", &["memory", "import", &path, "--continue", "--json"]);
    let wrong = String::from_utf8_lossy(&whole.stderr).into_owned();
    assert_eq!(whole.status.code(), Some(1), "{wrong}");
    let sums = crate::daemon::lines(&whole).pop().unwrap();
    assert_eq!((&sums["taken"], &sums["refused"]), (&2.into(), &2.into()), "{sums}");
    assert!(wrong.contains("line 2: is no unit: ") && wrong.contains("line 3: has 58"), "{wrong}");
    assert_eq!(bed.try_recall("agent", "fan").await.unwrap().hits.len(), 2);
}

//! Text in images: read where there is some, and hostile images stay in their sandbox.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::proto::tools::{CallRequest, File};

use crate::daemon::{Daemon, Setup, code, eventually, parsed, request};

const ENGLISH: &[u8] = include_bytes!("../fixtures/images/english.png");
const CHINESE: &[u8] = include_bytes!("../fixtures/images/chinese.png");

async fn read(daemon: &Daemon, image: &[u8], media_type: &str, arguments: Value) -> Value {
    let file = File {
        name: "image".into(),
        media_type: media_type.into(),
        content: image.to_vec().into(),
        ..File::default()
    };
    let call = CallRequest { files: vec![file], ..request("image.ocr", &arguments.to_string()) };
    parsed(&daemon.try_call(call).await.unwrap())
}

/// The text without white space, in which readings may differ.
fn text(reply: &Value) -> String {
    assert_eq!(code(reply), "SUCCESS", "{reply:#}");
    reply["data"]["text"].as_str().unwrap().split_whitespace().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn english_and_chinese_are_read() {
    let daemon = Setup::new().start().await;
    let reply = read(&daemon, ENGLISH, "", json!({})).await;
    assert_eq!(
        reply["data"]["text"], "Invoice 2041 for Harbour Books\nTotal due: 318.50 EUR by 14 March",
        "{reply:#}"
    );
    assert!(reply["data"]["confidence"].as_f64().unwrap() > 80.0, "{reply:#}");
    assert_eq!(reply["metadata"]["untrusted"], true);

    let reply = read(&daemon, CHINESE, "image/png", json!({ "languages": ["chi_sim"] })).await;
    assert_eq!(text(&reply), "今天天气很好，我们去公园。北京大学图书馆");
    let both = read(&daemon, CHINESE, "image/png", json!({})).await;
    assert_eq!(text(&both), "今天天气很好，我们去公园。北京大学图书馆");

    let arguments = json!({ "languages": ["eng"], "layout": "block", "detail": "words" });
    let reply = read(&daemon, ENGLISH, "", arguments).await;
    let words = reply["data"]["words"].as_array().unwrap();
    assert_eq!((words.len(), &words[0]["text"]), (12, &json!("Invoice")), "{reply:#}");
    let at = words[0]["box"].as_array().unwrap();
    assert!(at.iter().all(|side| (1..400).contains(&side.as_u64().unwrap())), "{at:?}");
    assert_eq!((&words[4]["line"], &words[5]["line"]), (&json!(1), &json!(2)));

    let without = daemon.call("image.ocr", &json!({})).await;
    assert_eq!(code(&without), "EXECUTION_ERROR", "{without:#}");
    let unknown = read(&daemon, ENGLISH, "", json!({ "languages": ["../eng"] })).await;
    assert_eq!(code(&unknown), "SCHEMA_VALIDATION_ERROR");
}

/// A gray image of one byte a pixel, all black: small as a file, large in memory. Made in a sandbox,
/// which has a compressor.
async fn bomb(daemon: &Daemon, side: u32) -> Vec<u8> {
    let script = format!(
        "import struct, zlib\nside = {side}\n\
         def part(kind, data): return struct.pack('>I', len(data)) + kind + data \
         + struct.pack('>I', zlib.crc32(kind + data))\n\
         row, squeeze, data = bytes(side + 1), zlib.compressobj(9), b''\n\
         for _ in range(side): data += squeeze.compress(row)\n\
         data += squeeze.flush()\n\
         head = struct.pack('>IIBBBBB', side, side, 8, 0, 0, 0, 0)\n\
         open('/tmp/out/bomb.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) \
         + part(b'IDAT', data) + part(b'IEND', b''))"
    );
    let call = CallRequest {
        output_files: vec!["bomb.png".into()],
        ..request("probe.files", &json!({ "script": script }).to_string())
    };
    let reply = daemon.try_call(call).await.unwrap();
    assert_eq!(code(&parsed(&reply)), "SUCCESS", "{}", reply.json);
    reply.files[0].content.to_vec()
}

/// A TIFF of one pixel whose list of pages leads back to its first.
fn cyclic_tiff() -> Vec<u8> {
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    let entries: [(u16, u16, u32); 9] = [
        (256, 4, 1),
        (257, 4, 1),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 122),
        (277, 3, 1),
        (278, 4, 1),
        (279, 4, 1),
    ];
    bytes.extend(9_u16.to_le_bytes());
    for (tag, kind, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(8_u32.to_le_bytes());
    bytes.resize(123, 0);
    bytes
}

/// The container that a call ran in.
fn container(daemon: &Daemon, reply: &Value) -> String {
    let config = daemon.config();
    let id = reply["metadata"]["call_id"].as_str().unwrap();
    let shown = daemon.cli(&["ledger", "show", "--json", "--config", &config, id]);
    let entry: Value = serde_json::from_slice(&shown.stdout).unwrap();
    entry["facts"]["run"]["container"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_images_end_in_an_error_inside_the_limits_and_leave_nothing() {
    let daemon =
        Setup::new().edit("sandbox/files.toml", "wall = \"5s\"", "wall = \"30s\"").start().await;
    let bomb = bomb(&daemon, 30_000).await;
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    let mut garbage = ENGLISH.to_vec();
    garbage[200..].fill(0xff);
    let polyglot = [b"\xff\xd8\xff\xe0\0\x10JFIF\0<script>alert(1)</script>", ENGLISH].concat();
    let table: [(&str, &[u8], &str, &[&str]); 7] = [
        ("truncated", &ENGLISH[..ENGLISH.len() / 2], "image/png", &["EXECUTION_ERROR"]),
        ("garbage", &garbage, "image/png", &["EXECUTION_ERROR"]),
        ("bomb", &bomb, "image/png", &["TOOL_OUT_OF_MEMORY", "EXECUTION_ERROR"]),
        ("wrong magic", b"not an image at all", "image/png", &["SCHEMA_VALIDATION_ERROR"]),
        ("list of paths", b"/etc/passwd\n/etc/group\n", "image/tiff", &["SCHEMA_VALIDATION_ERROR"]),
        ("polyglot", &polyglot, "image/jpeg", &["EXECUTION_ERROR"]),
        // Only its first page is read, and holds no text.
        ("cyclic", &cyclic_tiff(), "image/tiff", &["SUCCESS"]),
    ];
    let mut used = Vec::new();
    for (name, image, media_type, expected) in table {
        let began = Instant::now();
        let reply = read(&daemon, image, media_type, json!({})).await;
        assert!(expected.contains(&code(&reply)), "{name}: {reply:#}");
        assert!(began.elapsed() < Duration::from_secs(30), "{name}: {:?}", began.elapsed());
        used.push(container(&daemon, &reply));
    }
    let reply = read(&daemon, ENGLISH, "image/png", json!({ "languages": ["eng"] })).await;
    assert!(text(&reply).starts_with("Invoice2041"), "the next call is fine: {reply:#}");
    used.retain(|id| !id.is_empty());
    assert_eq!(used.len(), 5, "two were refused before they had a container");
    eventually("their containers gone", || async {
        let there = daemon.containers();
        !used.iter().any(|id| there.contains(id))
    })
    .await;
}

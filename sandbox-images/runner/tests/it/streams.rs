//! What passes through: standard input, output, connections.

use std::time::Duration;

use futures::io::{AsyncReadExt, AsyncWriteExt};
use switchboard_runner::{Exit, HEADER, Kind, Open, parse_header};

use crate::harness::{container, fetch, gate, namespace, shell};

#[tokio::test]
async fn eight_mebibytes_come_back_as_they_went_in() {
    let sandbox = namespace().await;
    let bytes: Vec<u8> =
        (0..8_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut request = shell("cat");
    request.output_bytes = 16 << 20;
    let ran = sandbox.call(&request, &bytes).await;
    assert_eq!(ran.report().exit, Exit::Code(0));
    assert!(ran.stdout == bytes, "{} bytes", ran.stdout.len());
}

#[tokio::test]
async fn input_that_the_tool_does_not_want_holds_nothing_up() {
    for script in ["head -c 3", "exit 0", "exec <&-; sleep 0.2; echo done"] {
        let sandbox = namespace().await;
        let ran = sandbox.call(&shell(script), &vec![b'a'; 4 << 20]).await;
        assert_eq!(ran.report().exit, Exit::Code(0), "{script}");
        assert!(ran.report().wall_us < 5_000_000, "{script}: {:?}", ran.report());
    }
}

#[tokio::test]
async fn empty_input_ends_at_once() {
    for (script, code, output) in
        [("cat", 0, ""), ("grep foo", 1, ""), ("read x; echo got:$x", 0, "got:\n")]
    {
        let sandbox = namespace().await;
        let ran = sandbox.call(&shell(script), b"").await;
        assert_eq!(
            (&ran.report().exit, ran.text().as_str()),
            (&Exit::Code(code), output),
            "{script}"
        );
        assert!(ran.elapsed < Duration::from_secs(2), "{script}: {:?}", ran.elapsed);
    }
}

#[tokio::test]
async fn characters_survive_wherever_they_are_split() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\344'; printf '\\275'; printf '\\240'; done; \
                  i=0; while [ $i -lt 5000 ]; do printf '你好👩‍💻'; i=$((i+1)); done";
    let sandbox = namespace().await;
    let ran = sandbox.call(&shell(script), b"").await;
    let expected = "你".repeat(10) + &"你好👩‍💻".repeat(5000);
    assert!(String::from_utf8(ran.stdout).expect("whole characters") == expected);
}

#[tokio::test]
async fn a_connection_of_the_tool_becomes_a_stream_with_the_nonce_of_its_call() {
    let flags = ["--tmpfs=/tmp:size=16m", "--memory=128m"];
    let mut sandbox = container("switchboard/python", &flags).await;
    let mut request = shell("");
    let script = "import os, socket\n\
        host, port = os.environ['HTTP_PROXY'].removeprefix('http://').split(':')\n\
        assert os.environ['https_proxy'] == os.environ['HTTP_PROXY'] and os.environ['NO_PROXY'] == ''\n\
        s = socket.create_connection((host, int(port)))\n\
        s.sendall(b'ping'); s.shutdown(socket.SHUT_WR)\n\
        data = b''\n\
        while chunk := s.recv(65536): data += chunk\n\
        print(len(data), data[:4].decode())";
    request.argv = ["python3", "-c", script].map(Into::into).to_vec();
    (request.cwd, request.egress) = ("/tmp".into(), true);
    request.env.push(("HTTP_PROXY".into(), "http://elsewhere:1".into()));
    let mut inbound = sandbox.connections();
    let gate = async {
        let mut stream = inbound.recv().await.expect("a connection");
        let mut header = [0; HEADER];
        stream.read_exact(&mut header).await.expect("a header");
        let (kind, length) = parse_header(header).expect("a frame");
        assert_eq!(kind, Kind::Open);
        let mut open = vec![0; length];
        stream.read_exact(&mut open).await.expect("an open frame");
        let open: Open = serde_json::from_slice(&open).expect("json");
        assert_eq!(open.nonce, "n-1");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.expect("half closed");
        assert_eq!(heard, b"ping");
        stream.write_all(&vec![b'p'; 3 << 20]).await.expect("sent");
        stream.close().await.expect("closed");
    };
    let (ran, ()) = futures::future::join(sandbox.call(&request, b""), gate).await;
    assert_eq!(ran.text(), "3145728 pppp\n", "{}", String::from_utf8_lossy(&ran.stderr));
}

#[tokio::test]
async fn the_http_client_of_the_image_fetches_through_the_port() {
    let mut sandbox = container("switchboard/runner", &["--memory=64m"]).await;
    let connections = sandbox.connections();
    let (mut request, call) = fetch();
    let calls = async {
        let good = sandbox.call(&request, call).await;
        request.egress = false;
        request.env = vec![("HTTP_PROXY".into(), String::new())];
        (good, sandbox.call(&request, call).await)
    };
    let (good, alone) = tokio::select! {
        both = calls => both,
        () = gate(connections) => panic!("the gate ended"),
    };
    assert!(good.started);
    assert_eq!(good.report().exit, Exit::Code(0), "{}", String::from_utf8_lossy(&good.stderr));
    assert!(good.text().ends_with("{\"id\": 1}\n"), "{}", good.text());
    assert_eq!(alone.report().exit, Exit::Code(2));
    assert!(String::from_utf8_lossy(&alone.stderr).contains("HTTP_PROXY"));
}

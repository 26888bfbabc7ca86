//! Files of calls: into the sandbox, out of it, into identity, policy, ledger and the command line.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use switchboard::proto::tools::{CallRequest, File, GetToolRequest, Reply};
use tonic::Code;

use crate::daemon::{Daemon, Setup, code, parsed, request};

fn file(name: &str, content: &[u8]) -> File {
    File { name: name.into(), content: content.to_vec().into(), ..File::default() }
}

fn script(script: &str, files: &[(&str, &[u8])], wanted: &[&str]) -> CallRequest {
    CallRequest {
        files: files.iter().map(|(name, content)| file(name, content)).collect(),
        output_files: wanted.iter().map(|name| (*name).to_owned()).collect(),
        ..request("probe.files", &json!({ "script": script }).to_string())
    }
}

async fn run(daemon: &Daemon, call: CallRequest) -> (Value, Reply) {
    let reply = daemon.try_call(call).await.unwrap();
    (parsed(&reply), reply)
}

const COPY: &str = "import os, shutil\n\
    for name in os.listdir('/tmp/in'): shutil.copy('/tmp/in/' + name, '/tmp/out/' + name)\n\
    print(sorted(os.listdir('/tmp/in')))";

#[tokio::test(flavor = "multi_thread")]
async fn files_go_in_and_come_back_byte_for_byte_and_are_recorded() {
    let daemon = Setup::new().start().await;
    let png: &[u8] = include_bytes!("../fixtures/images/english.png");
    let big: Vec<u8> = (0..700_000_u32).map(|n| b'a' + (n % 7).to_le_bytes()[0]).collect();
    let files: [(&str, &[u8]); 3] = [("a.png", png), ("big.txt", &big), ("empty", b"")];
    let (told, reply) = run(&daemon, script(COPY, &files, &["empty", "big.txt", "a.png"])).await;
    assert_eq!(code(&told), "SUCCESS", "{told:#}");
    let names: Vec<&str> = reply.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["empty", "big.txt", "a.png"], "in the order that was asked for");
    assert!(reply.files[1].content == big && reply.files[2].content == png);
    assert_eq!(reply.files[2].media_type, "image/png");
    let listed = &told["metadata"]["files"];
    assert_eq!(listed[2]["bytes"], png.len());
    assert_eq!(listed[2]["sha256"], reply.files[2].sha256);
    assert!(reply.json.len() < 2000, "no content is in the JSON");

    let config = daemon.config();
    let id = told["metadata"]["call_id"].as_str().unwrap();
    let shown = daemon.cli(&["ledger", "show", "--json", "--config", &config, id]);
    let entry: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(entry["facts"]["files_out"], *listed, "{entry:#}");
    assert_eq!(entry["facts"]["files_in"][0], listed[2]);
    let database = std::fs::read(daemon.folder().join("ledger.db")).unwrap();
    assert!(
        !database.windows(32).any(|bytes| bytes == &png[100..132]),
        "the content is kept nowhere"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_tool_does_not_take_or_give_are_refused_before_it_runs() {
    let daemon = Setup::new().start().await;
    let table: [(&str, CallRequest); 13] = [
        (
            "takes no files",
            CallRequest {
                files: vec![file("a", b"x")],
                ..request("probe.sh", "{\"script\":\"true\"}")
            },
        ),
        (
            "gives no files",
            CallRequest {
                output_files: vec!["a".into()],
                ..request("probe.sh", "{\"script\":\"true\"}")
            },
        ),
        ("at most 3", script("0", &[("a", b""), ("b", b""), ("c", b""), ("d", b"")], &[])),
        ("at most 1048576", script("0", &[("a", &vec![b'x'; (1 << 20) + 1])], &[])),
        ("not taken", script("0", &[("a", b"\0\x01\x02")], &[])),
        ("no name", script("0", &[("../a", b"x")], &[])),
        ("no name", script("0", &[("a/b", b"x")], &[])),
        ("no name", script("0", &[(".a", b"x")], &[])),
        ("twice", script("0", &[("a", b"x"), ("A", b"y")], &[])),
        ("no name", script("0", &[], &["/etc/passwd"])),
        ("no name", script("0", &[], &["a\nb"])),
        ("twice", script("0", &[], &["a", "A"])),
        ("at most 3", script("0", &[], &["a", "b", "c", "d"])),
    ];
    for (part, call) in table {
        let (told, _) = run(&daemon, call).await;
        assert_eq!(code(&told), "SCHEMA_VALIDATION_ERROR", "{part}: {told:#}");
        assert!(told["error"]["message"].as_str().unwrap().contains(part), "{part}: {told:#}");
        assert_eq!(told["metadata"]["pool"], Value::Null, "nothing ran");
    }
    let mut lying = script("0", &[("a", b"plain text")], &[]);
    lying.files[0].media_type = "image/png".into();
    let (told, _) = run(&daemon, lying.clone()).await;
    assert_eq!(told["error"]["details"]["violations"][0]["kind"], "file_content", "{told:#}");
    lying.files[0].sha256 = "00".into();
    assert_eq!(daemon.try_call(lying).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_what_it_should_be_is_named_and_all_else_is_delivered() {
    let daemon = Setup::new().start().await;
    let hostile = "import os\nos.symlink('/etc/passwd', '/tmp/out/a')\nos.mkfifo('/tmp/out/b')\n\
                   open('/tmp/out/c', 'w').write('fine')\nprint('done')";
    let (told, reply) = run(&daemon, script(hostile, &[], &["a", "b", "c"])).await;
    assert_eq!(code(&told), "EXECUTION_ERROR", "{told:#}");
    let files = &told["error"]["details"]["files"];
    assert!(files[0]["reason"].as_str().unwrap().contains("symbolic link"), "{told:#}");
    assert!(files[1]["reason"].as_str().unwrap().contains("FIFO"), "{told:#}");
    assert_eq!(told["data"], "done\n", "what it printed is there");
    assert_eq!(reply.files.len(), 1);
    assert_eq!(&reply.files[0].content[..], b"fine");

    let (told, _) = run(&daemon, script("pass", &[], &["a"])).await;
    assert_eq!(code(&told), "EXECUTION_ERROR");
    assert!(told["error"]["message"].as_str().unwrap().contains("`a` was not written"), "{told:#}");

    let large = "open('/tmp/out/a', 'wb').truncate(2 << 20)";
    let (told, _) = run(&daemon, script(large, &[], &["a"])).await;
    assert_eq!(code(&told), "OUTPUT_LIMIT", "{told:#}");
    assert_eq!(told["error"]["details"]["limit_bytes"], 1 << 20);

    let failed = "open('/tmp/out/a', 'w').write('half')\nraise SystemExit(3)";
    let (told, reply) = run(&daemon, script(failed, &[], &["a", "b"])).await;
    assert_eq!(told["error"]["details"]["exit_code"], 3, "its own failure comes first: {told:#}");
    assert_eq!(told["metadata"]["notes"][0]["kind"], "file_absent");
    assert_eq!(&reply.files[0].content[..], b"half");
    let (told, _) = run(&daemon, script("print(1)", &[], &[])).await;
    assert_eq!(code(&told), "SUCCESS", "the next call is fine: {told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_one_call_is_there_in_the_next() {
    let daemon = Setup::new().start().await;
    let leave = "import os\nfor folder in ['/tmp', '/tmp/out', '/dev/shm', '/var/tmp', '/run/lock', '/tmp/in']:\n\
                 \x20try: open(folder + '/left', 'w').write('x')\n\x20except OSError: pass\n\
                 print(os.path.exists('/tmp/left'))";
    let (told, _) = run(&daemon, script(leave, &[("a", b"x")], &["left"])).await;
    assert_eq!(told["data"], "True\n", "{told:#}");
    let look = "import os\nprint([p for p in ['/tmp/left', '/dev/shm/left', '/var/tmp/left', \
                '/run/lock/left', '/tmp/in', '/tmp/out'] if os.path.lexists(p)])";
    let (told, _) = run(&daemon, script(look, &[], &[])).await;
    assert_eq!(told["data"], json!([]), "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_files_make_another_call() {
    let daemon = Setup::new().start().await;
    let unique = "import os, uuid\nprint(uuid.uuid4())\nopen('/tmp/out/a', 'w').write('x')";
    let (first, reply) = run(&daemon, script(unique, &[("a", b"1")], &["a"])).await;
    let (again, kept) = run(&daemon, script(unique, &[("a", b"1")], &["a"])).await;
    assert_eq!((&first["data"], &again["metadata"]["cache_hit"]), (&again["data"], &json!(true)));
    assert_eq!(reply.files, kept.files, "a cached reply has its files");
    for other in [
        script(unique, &[("a", b"2")], &["a"]),
        script(unique, &[("b", b"1")], &["a"]),
        script(unique, &[], &["a"]),
        script(unique, &[("a", b"1")], &[]),
    ] {
        let (told, _) = run(&daemon, other).await;
        assert_eq!(told["metadata"]["cache_hit"], false, "{told:#}");
    }
    let keyed = |content: &[u8]| CallRequest {
        idempotency_key: "k".into(),
        ..script("print(1)", &[("a", content)], &[])
    };
    run(&daemon, keyed(b"1")).await;
    assert_eq!(code(&run(&daemon, keyed(b"2")).await.0), "DUPLICATE_CALL");
    let talked = |content: &[u8]| CallRequest {
        conversation_id: "c".into(),
        ..script("print(2)", &[("a", content)], &[])
    };
    assert_eq!(code(&run(&daemon, talked(b"1")).await.0), "SUCCESS");
    assert_eq!(code(&run(&daemon, talked(b"2")).await.0), "SUCCESS");
    assert_eq!(code(&run(&daemon, talked(b"1")).await.0), "DUPLICATE_CALL");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_can_fix_the_files_and_make_a_file_of_the_output() {
    let daemon = Setup::new().start().await;
    let call = |tool: &str, script: &str| request(tool, &json!({ "script": script }).to_string());
    let (told, reply) = run(&daemon, call("probe.fixed", "echo a,b > /tmp/out/report.csv")).await;
    assert_eq!((code(&told), reply.files[0].name.as_str()), ("SUCCESS", "report.csv"), "{told:#}");
    let other = CallRequest { output_files: vec!["x".into()], ..call("probe.fixed", "true") };
    assert_eq!(code(&run(&daemon, other).await.0), "SCHEMA_VALIDATION_ERROR");
    assert_eq!(code(&run(&daemon, call("probe.fixed", "true")).await.0), "EXECUTION_ERROR");

    let print = call("probe.stdout", "printf '\\211PNG\\r\\n\\032\\n\\000'");
    let (told, reply) = run(&daemon, print).await;
    assert_eq!((code(&told), &told["data"]), ("SUCCESS", &Value::Null), "{told:#}");
    assert_eq!(told["metadata"]["data_form"], "file");
    assert_eq!(&reply.files[0].content[..], b"\x89PNG\r\n\x1a\n\0");
    assert_eq!(reply.files[0].media_type, "image/png");
    assert_eq!(code(&run(&daemon, call("probe.stdout", "true")).await.0), "EXECUTION_ERROR");

    let asked = GetToolRequest { name: "probe.fixed".into(), ..Default::default() };
    let tool = daemon.client().await.get_tool(asked).await.unwrap().into_inner();
    assert_eq!(tool.files.unwrap().give.unwrap().names, ["report.csv"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_files_pass_and_a_larger_message_is_refused() {
    let daemon = Setup::new()
        .edit("sandbox/files.toml", "disk = \"4MiB\"", "disk = \"40MiB\"")
        .edit("sandbox/files.toml", "memory = \"64MiB\"", "memory = \"256MiB\"")
        .edit("tools/probe-files.toml", "1MiB", "16MiB")
        .start()
        .await;
    let most = vec![b'x'; 16 << 20];
    let (told, reply) = run(&daemon, script(COPY, &[("a", &most)], &["a"])).await;
    assert_eq!(code(&told), "SUCCESS", "{told:#}");
    assert!(reply.files[0].content == most);
    let over = vec![b'x'; 33 << 20];
    let status = daemon.try_call(script("0", &[("a", &over)], &[])).await.unwrap_err();
    assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_do_not_fit_their_sandbox_keep_the_tool_from_loading() {
    let setup = Setup::new().edit("sandbox/files.toml", "disk = \"4MiB\"", "disk = \"1MiB\"");
    let folder = setup.policies().display().to_string();
    let daemon = setup.start().await;
    let (told, _) = run(&daemon, script("0", &[], &[])).await;
    assert_eq!(code(&told), "UNKNOWN_TOOL", "{told:#}");
    let lint = daemon.cli(&["tools", "lint", "--catalog", &folder]);
    let text = String::from_utf8_lossy(&[lint.stdout, lint.stderr].concat()).into_owned();
    assert!(text.contains("limits.disk"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_sends_files_and_writes_them_to_one_folder_only() {
    let daemon = Setup::new().start().await;
    let source = daemon.folder().join("in.txt");
    std::fs::write(&source, "hello").unwrap();
    let out = daemon.folder().join("out");
    let arguments = json!({ "script": COPY }).to_string();
    let (sent, folder) = (format!("a.txt={}", source.display()), out.display().to_string());
    let line = [
        "call",
        "probe.files",
        &arguments,
        "--file",
        &sent,
        "--take",
        "a.txt",
        "--out-dir",
        &folder,
    ];
    let done = daemon.cli(&line);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(std::fs::read_to_string(out.join("a.txt")).unwrap(), "hello");

    std::fs::write(&source, "other").unwrap();
    let refused = daemon.cli(&line);
    assert_eq!(refused.status.code(), Some(2), "nothing is overwritten unasked: {refused:?}");
    assert_eq!(std::fs::read_to_string(out.join("a.txt")).unwrap(), "hello");
    // A link in the folder is replaced, and what it leads to is left alone.
    let victim = daemon.folder().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::fs::remove_file(out.join("a.txt")).unwrap();
    symlink(&victim, out.join("a.txt")).unwrap();
    let forced = daemon.cli(&[&line[..], &["--force"]].concat());
    assert!(forced.status.success(), "{forced:?}");
    assert_eq!(std::fs::read_to_string(out.join("a.txt")).unwrap(), "other");
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "mine");
    let outside =
        daemon.cli(&["call", "probe.files", &arguments, "--take", "../x", "--out-dir", &folder]);
    assert_eq!(outside.status.code(), Some(2), "{outside:?}");
}

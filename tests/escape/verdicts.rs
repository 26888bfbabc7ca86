//! The verdict matrix: each way in which a call can end, and what the reply and the ledger have to call
//! it, on both runtimes. A table of its own.

use serde_json::Value;
use switchboard::proto::tools::CancelRequest;
use switchboard::proto::tools::call_event::Event;
use tokio_stream::StreamExt;

use crate::daemon::{eventually, parsed, request};
use crate::site::{Run, Runtime, Site, arguments};

/// What happens to a call from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Itself,
    /// The caller cancels it.
    Caller,
    /// Its container is killed.
    Engine,
}

/// One way to end. Code of the reply, and words of the record, that begin so.
struct Row {
    name: &'static str,
    from: From,
    code: &'static str,
    exit: &'static str,
    /// The same on gVisor.
    runsc: (&'static str, &'static str),
    /// Whether the kernel killed a process for want of memory, as the record has to say.
    killed: bool,
    script: &'static str,
}

const fn row(
    name: &'static str,
    code: &'static str,
    exit: &'static str,
    script: &'static str,
) -> Row {
    Row { name, from: From::Itself, code, exit, runsc: (code, exit), killed: false, script }
}

const EAT: &str = "held = []\nwhile True: held.append(bytearray(b'x' * (1 << 20)))\n";

/// Those in which the tool, the kernel or the daemon ends the tool's processes.
fn deaths() -> Vec<Row> {
    let lost = ("TOOL_OUT_OF_MEMORY", "out of memory");
    vec![
        Row {
            killed: true,
            runsc: lost,
            ..row(
                "out of memory in a child, exit 0",
                "SUCCESS",
                "exited 0",
                "import os\nchild = os.fork()\nif child == 0:\n    held = []\n    while True: \
                 held.append(bytearray(b'x' * (1 << 20)))\nos.waitpid(child, 0)\n",
            )
        },
        Row { killed: true, ..row("out of memory of the tool", lost.0, lost.1, EAT) },
        row("its own SIGKILL", "EXECUTION_ERROR", "signal 9", "import os; os.kill(os.getpid(), 9)"),
        row("wall time", "TOOL_TIMEOUT", "timeout", "import time; time.sleep(60)"),
        row("exit 137", "EXECUTION_ERROR", "exited 137", "import os; os._exit(137)"),
        row(
            "a killed child, exit 0",
            "SUCCESS",
            "exited 0",
            "import os, signal\nchild = os.fork()\nif child == 0: signal.pause()\n\
             os.kill(child, 9)\nos.waitpid(child, 0)\n",
        ),
    ]
}

/// Those in which another limit is met, or somebody else ends the call.
fn limits() -> Vec<Row> {
    vec![
        row(
            "too many processes",
            "PROCESS_LIMIT",
            "process limit",
            "import os\nwhile True: os.posix_spawn('/bin/sleep', ['sleep', '60'], {})\n",
        ),
        row(
            "a file too long",
            "DISK_LIMIT",
            "disk limit",
            "import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n\
             os.truncate(os.open('/tmp/long', os.O_CREAT | os.O_WRONLY), 1 << 30)\n",
        ),
        row("too much output", "OUTPUT_LIMIT", "output limit", "while True: print('y' * 4096)"),
        row(
            "disk full by bytes",
            "DISK_LIMIT",
            "disk limit",
            "for n in range(100): open(f'/tmp/{n}', 'wb').write(bytes(1 << 20))\n",
        ),
        Row {
            runsc: ("TOOL_TIMEOUT|TOOL_OUT_OF_MEMORY", "timeout|out of memory"),
            ..row(
                "disk full by files",
                "DISK_LIMIT",
                "disk limit",
                "for n in range(1_000_000): open(f'/tmp/{n}', 'wb').close()\n",
            )
        },
        Row {
            from: From::Caller,
            ..row("cancelled", "CANCELLED", "cancelled", "import time; time.sleep(60)")
        },
        Row {
            from: From::Engine,
            ..row(
                "its container is killed",
                "SANDBOX_UNAVAILABLE",
                "lost",
                "import time; time.sleep(60)",
            )
        },
    ]
}

/// Prints the table; gives how many rows passed and failed.
pub(crate) async fn print(site: &Site) -> (usize, usize) {
    let (mut passed, mut failed) = (0, 0);
    for row in deaths().into_iter().chain(limits()) {
        let run = end(site, &row).await;
        let exit = run.record["facts"]["run"]["exit"].as_str().unwrap_or_default().to_owned();
        let killed = run.record["facts"]["run"]["oom_kills"].as_u64().unwrap_or_default();
        let recorded = run.record["code"].as_str().unwrap_or("SUCCESS").to_owned();
        let (code, words) = match site.runtime() {
            Runtime::Runc => (row.code, row.exit),
            Runtime::Runsc => row.runsc,
        };
        let counted = site.runtime() == Runtime::Runsc || (killed > 0) == row.killed;
        let right = code.split('|').any(|code| code == run.code())
            && words.split('|').any(|words| exit.starts_with(words))
            && recorded == run.code()
            && counted;
        let told = format!("{} / {exit}, {killed} killed", run.code());
        let word = if right { "passed" } else { "FAILED" };
        println!("verdict   {:<52}  {:<5}  {word}  ({told})", row.name, site.runtime().name());
        if right {
            passed += 1;
        } else {
            failed += 1;
            println!(
                "          expected {code} / {words}, the ledger has {recorded}: {}",
                run.reply
            );
        }
    }
    (passed, failed)
}

async fn end(site: &Site, row: &Row) -> Run {
    let given = arguments(row.script, "", &site.input);
    if row.from == From::Itself {
        return site.call("attack", &given).await;
    }
    let mut call = request("attack", &given.to_string());
    let id = uuid::Uuid::new_v4().to_string();
    call.call_id.clone_from(&id);
    let mut stream = site.daemon.running(call).await;
    strike(site, row.from, &id).await;
    let mut reply = Value::Null;
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                if let Some(Event::Reply(last)) = event.event {
                    reply = parsed(&last);
                }
            }
            Err(status) => reply = Run::refused(&status),
        }
    }
    // The record follows the status of a call that is dropped.
    eventually("the call is recorded", || async { !site.record(&id).is_null() }).await;
    Run { reply, record: site.record(&id) }
}

/// Ends a call from outside.
async fn strike(site: &Site, from: From, id: &str) {
    if from == From::Caller {
        let cancel = CancelRequest { call_id: id.to_owned() };
        assert!(site.daemon.client().await.cancel(cancel).await.unwrap().into_inner().cancelled);
        return;
    }
    let mut arguments = vec!["kill".to_owned()];
    arguments.extend(site.engine.containers(&site.daemon.setup.instance));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    drop(site.engine.docker(&arguments));
}

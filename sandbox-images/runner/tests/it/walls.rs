//! What a tool in a container can see and do, and what the limits of the container do to it.

use std::time::Duration;

use switchboard_runner::{CgroupLimits, Exit, Request};

use crate::harness::{Ran, container, shell};

const FLAGS: [&str; 5] = [
    "--tmpfs=/tmp:size=16m,mode=1777,nr_inodes=2000",
    "--memory=64m",
    "--memory-swap=64m",
    "--pids-limit=32",
    "--cpus=0.5",
];

async fn run(image: &str, request: &Request) -> Ran {
    container(image, &FLAGS).await.call(request, b"").await
}

fn python(script: &str) -> Request {
    let mut request = shell("");
    request.argv = ["python3", "-c", script].map(Into::into).to_vec();
    request.cwd = "/tmp".into();
    request
}

fn inside(script: &str) -> Request {
    let mut request = shell(script);
    request.cwd = "/tmp".into();
    request
}

#[tokio::test]
async fn the_limits_of_the_container_are_read_back() {
    let sandbox = container("switchboard/runner", &FLAGS).await;
    let expected = CgroupLimits {
        memory_bytes: Some(64 << 20),
        memory_and_swap_bytes: Some(64 << 20),
        processes: Some(32),
        cpu_millis: Some(500),
    };
    assert_eq!(sandbox.ready.limits, expected);
    assert_eq!(sandbox.ready.seccomp, Some(true), "the engine's own filter");
}

#[tokio::test]
async fn a_tool_has_no_privilege_and_nothing_open_but_its_three_pipes() {
    let mut request = inside(
        "id -u; id -g; grep -E '^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs|Groups)' /proc/self/status; \
         ls /proc/$$/fd; echo; for i in 0 1 2; do [ -t $i ] && echo tty; done; \
         ulimit -n; ulimit -c; cat /proc/$$/oom_score_adj; cut -d' ' -f5,6 /proc/$$/stat; \
         echo $$ $$; env | sort",
    );
    request.last = false;
    let sandbox = container("switchboard/shell", &FLAGS).await;
    // The first tool was started by PID 1, the others were forked by the spawner.
    for _ in 0..3 {
        check_walls(&sandbox.call(&request, b"").await);
    }
}

fn check_walls(ran: &Ran) {
    let text = ran.text();
    let zero = "0000000000000000";
    for line in [
        "Groups:\t ",
        &format!("CapInh:\t{zero}"),
        &format!("CapPrm:\t{zero}"),
        &format!("CapEff:\t{zero}"),
        &format!("CapAmb:\t{zero}"),
        "NoNewPrivs:\t1",
        "PATH=/usr/bin:/bin",
    ] {
        assert!(text.lines().any(|seen| seen == line), "`{line}` in {text}");
    }
    let ids: Vec<u32> = text.lines().take(2).map(|line| line.parse().expect("an id")).collect();
    assert!((10_001..65_536).contains(&ids[0]) && ids[0] == ids[1], "{text}");
    assert!(text.contains("\n0\n1\n2\n\n64\n0\n1000\n"), "{text}");
    let lines: Vec<_> = text.lines().collect();
    let session = lines.iter().position(|line| *line == "1000").expect("a score") + 1;
    assert_eq!(lines[session], lines[session + 1], "it leads its session and group: {text}");
}

#[tokio::test]
async fn the_first_process_is_out_of_reach() {
    let ran = run(
        "switchboard/python",
        &python(
            "import ctypes, os, signal\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             def deny(what, do):\n\
            \x20   try: do()\n\
            \x20   except OSError as e: print(what, e.errno)\n\
            \x20   else: print(what, 'worked')\n\
             def check(r):\n\
            \x20   if r < 0: raise OSError(ctypes.get_errno(), '')\n\
             for name in ['environ', 'mem', 'maps', 'fd', 'cwd', 'root', 'exe', 'auxv', 'syscall', 'stack']:\n\
            \x20   path = '/proc/1/' + name\n\
            \x20   deny(name, lambda: os.listdir(path) if name == 'fd' else os.readlink(path) \
                      if name in ('cwd', 'root', 'exe') else open(path, 'rb').read(1))\n\
             deny('write', lambda: open('/proc/1/fd/1', 'wb'))\n\
             for sig in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV):\n\
            \x20   deny('kill', lambda: os.kill(1, sig))\n\
             deny('ptrace', lambda: check(libc.ptrace(16, 1, 0, 0)))\n\
             deny('pidfd', lambda: check(libc.syscall(438, os.pidfd_open(1), 1, 0)))\n",
        ),
    )
    .await;
    let text = ran.text();
    assert_eq!(text.lines().count(), 16, "{text} {}", String::from_utf8_lossy(&ran.stderr));
    for line in text.lines() {
        assert!(line.ends_with(" 1") || line.ends_with(" 13"), "{line}");
    }
    assert_eq!(ran.report().exit, Exit::Code(0));
}

#[tokio::test]
async fn killing_everything_within_reach_ends_only_the_tool() {
    let ran = run("switchboard/shell", &inside("kill -9 -1; exit 5")).await;
    assert!(matches!(ran.report().exit, Exit::Signal(9) | Exit::Code(5)), "{:?}", ran.report());
    assert_eq!(ran.report().stopped, None);
}

#[tokio::test]
async fn forged_frames_are_plain_output() {
    let forged = r#"printf '\007\000\000\000\002{}'"#;
    let ran = run("switchboard/shell", &inside(forged)).await;
    assert_eq!(ran.stdout, b"\x07\0\0\0\x02{}");
    assert_eq!(ran.report().exit, Exit::Code(0));
}

#[tokio::test]
async fn memory_above_the_limit_is_counted_whoever_is_hit() {
    let ran = run("switchboard/python", &python("x = bytearray(512 * 1024 * 1024)")).await;
    assert_eq!(ran.report().exit, Exit::Signal(9));
    assert!(ran.report().oom_kills >= 1, "{:?}", ran.report());
    assert_eq!(ran.report().stopped, None);
    let script = "python3 -c 'x = bytearray(512 * 1024 * 1024)'; echo child=$?; exit 0";
    let ran = run("switchboard/python", &inside(script)).await;
    assert_eq!((&ran.report().exit, ran.text().as_str()), (&Exit::Code(0), "child=137\n"));
    assert!(ran.report().oom_kills >= 1, "{:?}", ran.report());
    let ran = run("switchboard/shell", &inside("kill -9 $$")).await;
    assert_eq!((&ran.report().exit, ran.report().oom_kills), (&Exit::Signal(9), 0));
}

#[tokio::test]
async fn a_fork_bomb_is_counted_and_gone() {
    let mut request = inside("f() { f | f & }; f; sleep 60");
    request.wall_ms = 2000;
    let mut sandbox = container("switchboard/shell", &FLAGS).await;
    let ran = sandbox.call(&request, b"").await;
    assert!(ran.report().forks_refused >= 1, "{:?}", ran.report());
    assert!(ran.elapsed < Duration::from_secs(8), "{:?}", ran.elapsed);
    sandbox.gone().await;
}

#[tokio::test]
async fn a_worker_survives_a_fork_bomb() {
    let mut request = inside("f() { f | f & }; f; sleep 60");
    (request.wall_ms, request.last) = (1000, false);
    let sandbox = container("switchboard/shell", &FLAGS).await;
    assert!(sandbox.call(&request, b"").await.report().forks_refused >= 1);
    let mut next = inside("echo fine");
    next.last = false;
    assert_eq!(sandbox.call(&next, b"").await.text(), "fine\n");
}

#[tokio::test]
async fn a_scratch_disk_fills_by_size_and_by_files_and_the_root_stays_read_only() {
    let ran = run("switchboard/shell", &inside("dd if=/dev/zero of=/tmp/x bs=1M count=2000")).await;
    assert!(ran.report().disk_full, "{:?}", ran.report());
    let many = "for i in range(100000): open(f'/tmp/{i}', 'w').close()";
    let ran = run("switchboard/python", &python(many)).await;
    assert!(ran.report().disk_full, "{:?}", ran.report());
    let ran = run("switchboard/shell", &inside("echo x > /big || echo x > /work/big")).await;
    assert_eq!(ran.report().exit, Exit::Code(2), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!ran.report().disk_full);
}

#[tokio::test]
async fn open_files_run_out_inside_only() {
    let script = "import os\nn = 0\ntry:\n  while True: os.open('/dev/null', 0); n += 1\n\
                  except OSError as e: print(n + 3, e.errno)";
    let ran = run("switchboard/python", &python(script)).await;
    assert_eq!(ran.text(), "64 24\n");
}

//! The default seccomp profile: what it must let through, what it must not, and that it is smaller
//! than the engine's own. All tried in containers of our images.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::live::{Room, config, images, order, profile, shell};
use crate::catalog::{Runtime, Seccomp, SeccompRule};
use crate::sandbox::End;
use crate::sandbox::recipe::Images;
use crate::sandbox::seccomp::spell;

const WORKS: &str = include_str!("../../../tests/fixtures/seccomp/works.py");
const REFUSED: &str = include_str!("../../../tests/fixtures/seccomp/refused.py");
const REACH: &str = include_str!("../../../tests/fixtures/seccomp/reach.py");

/// Calls that no file of ours may allow.
const NEVER: &str = "\
    io_uring_setup bpf userfaultfd perf_event_open keyctl add_key request_key mount umount2 \
    fsopen move_mount open_tree pivot_root chroot unshare setns ptrace process_vm_readv \
    process_vm_writev pidfd_getfd open_by_handle_at name_to_handle_at kexec_load \
    kexec_file_load init_module finit_module delete_module quotactl swapon swapoff reboot \
    personality shmget semget msgget mq_open splice vmsplice tee kcmp setuid setgid setreuid \
    setregid setfsuid setfsgid acct syslog clock_settime settimeofday sethostname iopl ioperm \
    modify_ldt";

/// Runs a Python script in a container of our image under a profile, or under the engine's own.
fn python(script: &str, filter: Option<&Seccomp>) -> String {
    let images = Images::read(&images()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filter.json");
    let mut command = Command::new("docker");
    command.args(["run", "--rm", "--interactive", "--network=none", "--log-driver=none"]);
    command.args(["--cap-drop=ALL", "--user=10001:10001", "--security-opt=no-new-privileges"]);
    command.args(["--read-only", "--tmpfs=/tmp:mode=1777,size=16m", "--pids-limit=64"]);
    if let Some(filter) = filter {
        std::fs::write(&file, spell(filter, Runtime::Runc)).unwrap();
        command.arg(format!("--security-opt=seccomp={}", file.display()));
    }
    command.args(["--entrypoint=python3", &images.image["python"].id, "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_profile_of_the_program_is_readable_and_allows_something() {
    let profile = Seccomp::built_in();
    assert!(profile.rules.len() > 50 && !profile.digest.is_empty());
    let named: BTreeSet<&str> =
        profile.rules.iter().flat_map(|rule| &rule.calls).map(String::as_str).collect();
    for never in NEVER.split_whitespace() {
        assert!(!named.contains(never), "{never}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_programs_need_works_under_the_profile() {
    let room = Room::open(config()).await;
    let mut wide = profile("python");
    wide.limits.memory = 512 << 20;
    wide.limits.processes = 64;
    wide.limits.wall = std::time::Duration::from_secs(60);
    let python = Arc::new(wide);
    let shells = Arc::new(profile("shell"));
    room.keep(&[&python, &shells]);
    room.ready().await;
    // A process that starts afresh reads its script again, so it needs a file.
    let save = "import os, sys\nopen('/tmp/works.py', 'w').write(sys.stdin.read())\n\
                os.execv(sys.executable, ['python3', '/tmp/works.py'])";
    let mut call = order(&python, &["python3", "-c", save]);
    call.stdin = WORKS.as_bytes().to_vec();
    let outcome = room.run(call).await;
    let (said, error) =
        (String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(outcome.end, End::Exited(0), "{said}{error}");
    assert_eq!(said.lines().count(), 9, "{said}");

    let tools = "set -e; cd /tmp; printf 'b 1\\na 2\\n' > x; sort x; wc x; cp x y; cp -a x z; \
        mv y w; ln -s x l; ln x h; ls -la; stat x; df /tmp; du -s .; mkfifo p; touch q; \
        chmod 600 q; chown \"$(id -u):$(id -g)\" q; date; id; uname -a; nproc; head -1 x; tail -1 x; \
        sha256sum x; base64 x; tee q2 < x; dd if=/dev/zero of=d bs=1k count=3; truncate -s 1k t; \
        split -l1 x; join x x; nice -n 1 true; timeout 1 true; sleep 0.01; mktemp -d; realpath x; \
        install x i; shuf x; nohup true; stdbuf -o0 cat x; rm -rf l h; grep a x; sed s/a/b/ x; \
        find .; tar cf t.tar x; gzip -k x; echo x | cat | wc -c; (sleep 0.01 & wait); echo whole";
    let outcome = room.run(shell(&shells, tools)).await;
    let (said, error) =
        (String::from_utf8_lossy(&outcome.stdout), String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(outcome.end, End::Exited(0), "{said}{error}");
    assert!(said.ends_with("whole\n") && !error.contains("not permitted"), "{said}{error}");
    room.close().await;
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_that_shall_fail_is_never_let_through_under_gvisor() {
    let fail = |calls: &[&str]| SeccompRule {
        calls: calls.iter().map(|&call| call.to_owned()).collect(),
        errno: Some(38),
        conditions: Vec::new(),
    };
    let profile = Seccomp {
        rules: vec![fail(&["ptrace", "unshare"]), fail(&["clone3", "mount"])],
        ..Seccomp::built_in()
    };
    let text: serde_json::Value = serde_json::from_str(&spell(&profile, Runtime::Runsc)).unwrap();
    let named: Vec<_> = text["syscalls"].as_array().unwrap().iter().map(|r| &r["names"]).collect();
    assert_eq!(named, [&serde_json::json!(["clone3"])]);
}

#[test]
fn each_call_left_out_is_refused_and_the_engines_own_profile_lets_it_through() {
    let table = |text: &str| -> BTreeMap<String, String> {
        let rows = text.lines().map(|line| line.split_once('\t').unwrap());
        rows.map(|(name, code)| (name.to_owned(), code.to_owned())).collect()
    };
    let (own, theirs) =
        (table(&python(REFUSED, Some(&Seccomp::built_in()))), table(&python(REFUSED, None)));
    assert!(own.len() >= 25 && own.len() == theirs.len());
    assert!(own.values().all(|code| code == "EPERM"), "{own:#?}");
    // A newer engine leaves some of these out itself; the point of the table is what we add.
    let through = theirs.values().filter(|code| !matches!(code.as_str(), "EPERM" | "ENOSYS"));
    assert!(through.count() * 2 > theirs.len(), "{theirs:#?}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_profile_lets_through_fewer_calls_than_the_engines_own_and_no_other() {
    let numbers = |text: &str| -> BTreeSet<u32> {
        text.split_whitespace().skip(1).map(|number| number.parse().unwrap()).collect()
    };
    let own = numbers(&python(REACH, Some(&Seccomp::built_in())));
    let theirs = numbers(&python(REACH, None));
    let added: Vec<_> = own.difference(&theirs).collect();
    assert!(added.is_empty(), "only ours lets through {added:?}");
    assert!(own.len() + 50 < theirs.len(), "{} of {}", own.len(), theirs.len());
    println!("system calls let through: ours {}, the engine's {}", own.len(), theirs.len());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_other_instruction_sets_are_shut() {
    // getpid as x32 spells it, and exit as 32-bit code does (eax 1, ebx 7, int 0x80).
    let script = "import ctypes, mmap, os, signal\n\
        libc = ctypes.CDLL(None)\n\
        def fate(act):\n  child = os.fork()\n  if child == 0:\n    act()\n    os._exit(0)\n  \
        return os.waitpid(child, 0)[1]\n\
        def x32():\n  os._exit(3 if libc.syscall(ctypes.c_long(0x40000000 + 39)) > 0 else 4)\n\
        def i386():\n  page = mmap.mmap(-1, 4096, prot=7)\n  \
        page.write(b'\\xbb\\x07\\0\\0\\0\\xb8\\x01\\0\\0\\0\\xcd\\x80\\xc3')\n  \
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n\
        print(fate(x32), fate(i386))";
    let told = python(script, Some(&Seccomp::built_in()));
    let fates: Vec<i32> = told.split_whitespace().map(|status| status.parse().unwrap()).collect();
    // Exit codes stand in the second byte: 3 is a call that worked, 7 one that ended the process.
    assert!(!fates.contains(&(3 << 8)) && !fates.contains(&(7 << 8)), "{told}");
}

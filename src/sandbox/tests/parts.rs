//! The parts that need no engine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bollard::models::ContainerSummary;
use bytes::Bytes;
use serde_json::json;
use switchboard_runner::{CgroupLimits, Exit, Ready, Report, Stopped};

use super::live::profile;
use crate::call::Code;
use crate::catalog::{Runtime, Seccomp, Unread};
use crate::sandbox::order::{Form, environment, fill, parse_answer};
use crate::sandbox::recipe::{Image, Images, LABEL_BOOT, LABEL_DEADLINE, Owner, Recipe};
use crate::sandbox::seccomp::spell;
use crate::sandbox::teardown::is_leftover;
use crate::sandbox::verdict::judge;
use crate::sandbox::{Config, End, Error};

pub(super) fn report(exit: Exit) -> Report {
    Report {
        nonce: "n".to_owned(),
        exit,
        stopped: None,
        wall_us: 1,
        cpu_us: 1,
        peak_bytes: 1,
        stdout_bytes: 0,
        stderr_bytes: 0,
        oom_kills: 0,
        forks_refused: 0,
        disk_full: false,
        given: Vec::new(),
    }
}

#[test]
fn each_way_to_end_has_its_own_verdict() {
    let killed = || report(Exit::Signal(9));
    let failed = || report(Exit::Code(1));
    let stopped = |why| Report { stopped: Some(why), ..killed() };
    let table = [
        (report(Exit::Code(0)), End::Exited(0)),
        (report(Exit::Code(137)), End::Exited(137)),
        (killed(), End::Signaled(9)),
        (report(Exit::Signal(11)), End::Signaled(11)),
        (
            report(Exit::NotStarted("no such file".to_owned())),
            End::NotStarted("no such file".to_owned()),
        ),
        (stopped(Stopped::Wall), End::Timeout),
        (stopped(Stopped::Output), End::OutputLimit),
        (stopped(Stopped::Cancelled), End::Cancelled),
        // What stopped it comes before what it met on the way.
        (
            Report { oom_kills: 1, forks_refused: 1, disk_full: true, ..stopped(Stopped::Wall) },
            End::Timeout,
        ),
        (Report { oom_kills: 1, ..killed() }, End::OutOfMemory),
        (Report { oom_kills: 1, ..failed() }, End::OutOfMemory),
        // A child was killed, and the tool coped.
        (
            Report { oom_kills: 1, forks_refused: 3, disk_full: true, ..report(Exit::Code(0)) },
            End::Exited(0),
        ),
        (Report { forks_refused: 1, ..failed() }, End::ProcessLimit),
        (Report { disk_full: true, ..failed() }, End::DiskLimit),
        (report(Exit::Signal(25)), End::DiskLimit),
    ];
    for (report, end) in table {
        assert_eq!(judge(&report, false), end, "{report:?}");
    }
}

#[test]
fn a_neighbours_want_of_memory_is_not_this_calls_verdict() {
    let oom = |exit| Report { oom_kills: 1, forks_refused: 1, disk_full: true, ..report(exit) };
    assert_eq!(judge(&oom(Exit::Code(1)), true), End::Exited(1));
    assert_eq!(judge(&oom(Exit::Signal(11)), true), End::Signaled(11));
    assert_eq!(judge(&oom(Exit::Signal(9)), true), End::OutOfMemory);
}

pub(super) fn images() -> Images {
    Images {
        image: HashMap::from([(
            "shell".to_owned(),
            Image {
                reference: "switchboard/shell:latest".to_owned(),
                id: format!("sha256:{}", "ab".repeat(32)),
            },
        )]),
    }
}

fn owner() -> Owner {
    Owner { instance: "one".to_owned(), boot: "b1".to_owned(), lifetime: Duration::from_secs(100) }
}

#[test]
fn the_create_body_grants_nothing_else() {
    let recipe = Recipe::new(&profile("shell"), &images()).unwrap();
    let mut body = serde_json::to_value(recipe.body(&owner())).unwrap();
    let labels = body.as_object_mut().unwrap().remove("Labels").unwrap();
    let filter = spell(&Seccomp::built_in(), Runtime::Runc);
    assert_eq!(
        body,
        json!({
            "Image": format!("sha256:{}", "ab".repeat(32)),
            "Entrypoint": ["/runner"],
            "Cmd": [],
            "User": "0:0",
            "WorkingDir": "/",
            "Hostname": "sandbox",
            "AttachStdin": true,
            "AttachStdout": true,
            "AttachStderr": true,
            "OpenStdin": true,
            "StdinOnce": true,
            "Tty": false,
            "NetworkDisabled": true,
            "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": {
                "AutoRemove": true,
                "NetworkMode": "none",
                "ReadonlyRootfs": true,
                "Tmpfs": {"/tmp": "rw,nosuid,nodev,size=16777216,nr_inodes=1024,mode=1777"},
                "ShmSize": 1048576,
                "CapDrop": ["ALL"],
                "CapAdd": ["SETUID", "SETGID", "KILL"],
                "SecurityOpt": ["no-new-privileges", format!("seccomp={filter}")],
                "Privileged": false,
                "Memory": 67108864,
                "MemorySwap": 67108864,
                "PidsLimit": 32 + super::super::recipe::RUNNER_PROCESSES,
                "NanoCpus": 1_000_000_000,
                "LogConfig": {"Type": "none"},
                "Init": false,
                "IpcMode": "private",
                "CgroupnsMode": "private",
                "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
            },
        })
    );
    let mut names: Vec<&String> = labels.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        [
            "switchboard.boot",
            "switchboard.created",
            "switchboard.deadline",
            "switchboard.instance",
            "switchboard.pool",
        ]
    );
    assert_eq!(labels["switchboard.instance"], "one");
}

fn ready() -> Ready {
    Ready {
        protocol: switchboard_runner::PROTOCOL,
        limits: CgroupLimits {
            memory_bytes: Some(67_108_864),
            memory_and_swap_bytes: Some(67_108_864),
            processes: Some(32 + u64::from(super::super::recipe::RUNNER_PROCESSES)),
            cpu_millis: Some(1000),
        },
        scratch_bytes: Some(16 << 20),
        scratch_files: Some(1024),
        seccomp: Some(true),
    }
}

fn without(change: impl FnOnce(&mut Ready)) -> Ready {
    let mut ready = ready();
    change(&mut ready);
    ready
}

#[test]
fn a_wall_that_does_not_read_back_is_refused() {
    let recipe = Recipe::new(&profile("shell"), &images()).unwrap();
    recipe.verify(&ready()).unwrap();
    let bad = [
        without(|ready| ready.limits.memory_bytes = None),
        without(|ready| ready.limits.memory_bytes = Some(1 << 62)),
        without(|ready| ready.limits.memory_and_swap_bytes = Some(134_217_728)),
        without(|ready| ready.limits.memory_and_swap_bytes = None),
        without(|ready| ready.limits.processes = None),
        without(|ready| ready.limits = CgroupLimits::default()),
        without(|ready| ready.limits.cpu_millis = Some(2000)),
        without(|ready| ready.scratch_bytes = Some(17 << 20)),
        without(|ready| ready.scratch_bytes = None),
        without(|ready| ready.scratch_files = None),
        without(|ready| ready.seccomp = Some(false)),
        without(|ready| ready.seccomp = None),
    ];
    for found in bad {
        let error = recipe.verify(&found).unwrap_err();
        assert!(matches!(error, Error::Unenforced { .. }), "{found:?}");
        assert_eq!(error.failure().code, Code::SandboxUnavailable);
    }
}

#[test]
fn what_a_profile_accepts_unread_may_be_missing_but_never_wrong() {
    let mut profile = profile("shell");
    profile.runtime = Runtime::Runsc;
    profile.accept_unread = vec![Unread::Memory, Unread::Inodes];
    let recipe = Recipe::new(&profile, &images()).unwrap();
    let guest = without(|ready| {
        ready.limits.processes = Some(96 + 8 * 32);
        ready.scratch_files = None;
        ready.limits.memory_bytes = None;
        ready.limits.memory_and_swap_bytes = None;
    });
    recipe.verify(&guest).unwrap();
    assert_eq!(recipe.guest_memory(), Some(64 << 20), "then the runner bounds each process");
    assert_eq!(recipe.guest_processes(), Some(32));
    let wrong = Ready { scratch_files: Some(7), ..guest.clone() };
    assert!(recipe.verify(&wrong).is_err());
    let unfiltered = Ready { seccomp: None, ..guest };
    assert!(recipe.verify(&unfiltered).unwrap_err().to_string().contains("seccomp"));
}

#[test]
fn an_image_is_named_by_its_id_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.toml");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Images::read(&path)
    };
    let error = read("[image.shell]\nreference = \"a:b\"\nid = \"a:b\"\n").unwrap_err();
    assert!(error.to_string().contains("`shell`"), "{error}");
    assert!(read("[image.shell]\nid = 3").is_err());
    assert!(read("nonsense").is_err());
    let id = format!("sha256:{}", "0".repeat(64));
    let good = read(&format!("[image.shell]\nreference = \"a:b\"\nid = \"{id}\"\n")).unwrap();
    assert!(Recipe::new(&profile("shell"), &good).is_ok());
    let error = Recipe::new(&profile("perl"), &good).unwrap_err();
    assert!(matches!(error, Error::ImageMissing { .. }));
}

#[test]
fn only_what_nobody_answers_for_is_a_leftover() {
    let container = |boot: Option<&str>, deadline: Option<&str>| {
        let mut labels = HashMap::new();
        if let Some(boot) = boot {
            labels.insert(LABEL_BOOT.to_owned(), boot.to_owned());
        }
        if let Some(deadline) = deadline {
            labels.insert(LABEL_DEADLINE.to_owned(), deadline.to_owned());
        }
        ContainerSummary { labels: Some(labels), ..Default::default() }
    };
    let table = [
        (container(Some("mine"), Some("2000")), true, false),
        (container(Some("mine"), Some("2000")), false, true),
        (container(Some("dead"), Some("2000")), true, true),
        (container(Some("mine"), Some("999")), true, true),
        (container(Some("mine"), Some("soon")), true, true),
        (container(None, None), true, true),
    ];
    for (container, known, expected) in table {
        assert_eq!(is_leftover(&container, "mine", 1000, known), expected, "{container:?}");
    }
}

#[test]
fn placeholders_take_whole_elements_and_never_a_shell() {
    let arguments = json!({"q": "a; rm -rf /", "n": 5, "list": [1, {"k": true}], "a/b": "slash"});
    let argv = ["grep", "{/q}", "{/n}", "{/list/1}", "{/a~1b}", "x{/q}", "{q}", "{}"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        fill(&argv, &arguments).unwrap(),
        ["grep", "a; rm -rf /", "5", "{\"k\":true}", "slash", "x{/q}", "{q}", "{}"]
    );
}

#[test]
fn an_argument_that_a_command_line_cannot_carry_is_refused() {
    let long = "x".repeat(128 << 10);
    for arguments in [json!({}), json!({"q": "a\u{0}b"}), json!({ "q": long })] {
        let error = fill(&["{/q}".to_owned()], &arguments).unwrap_err();
        let failure = error.failure();
        assert_eq!(failure.code, Code::SchemaValidationError);
        assert_eq!(failure.details["pointer"], "/q");
    }
    let longest = json!({ "q": "x".repeat((128 << 10) - 1) });
    assert!(fill(&["{/q}".to_owned()], &longest).is_ok());
}

#[test]
fn the_manifests_environment_wins() {
    let own = [("HOME", "/srv"), ("X", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let env = environment(&own);
    let value = |name: &str| {
        let mut found = env.iter().filter(|(n, _)| n == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} twice");
        value
    };
    assert_eq!(value("HOME"), Some("/srv"));
    assert_eq!(value("X"), Some("1"));
    assert_eq!(value("TMPDIR"), Some("/tmp"));
    assert_eq!(value("LANG"), Some("C.UTF-8"));
    assert!(value("PATH").is_some());
}

#[test]
fn the_http_clients_answer_is_a_line_and_a_body() {
    let line =
        b"{\"status\":404,\"headers\":[[\"Content-Type\",\"text/plain\"]]}\nline 1\nline 2\xff";
    let answer = parse_answer(Bytes::from_static(line), Form::Single).unwrap();
    assert_eq!(answer.status, 404);
    assert_eq!(answer.headers, [("content-type".to_owned(), "text/plain".to_owned())]);
    assert_eq!(&answer.body[..], b"line 1\nline 2\xff");
    for broken in [&b""[..], b"{}", b"{}\n", b"{\"status\":200,\"headers\":[]}", b"HTTP/1.1 200\n"]
    {
        assert!(parse_answer(Bytes::copy_from_slice(broken), Form::Single).is_none(), "{broken:?}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let wrong = [
        Config { engine: "ftp://x".to_owned(), instance: "mine".to_owned(), ..Config::default() },
        Config { instance: String::new(), ..Config::default() },
        Config { capacity: 0, instance: "mine".to_owned(), ..Config::default() },
    ];
    for config in wrong {
        assert!(matches!(config.check(), Err(Error::Config { .. })), "{config:?}");
    }
    Config { instance: "mine".to_owned(), ..Config::default() }.check().unwrap();
    assert!(toml::from_str::<Config>("capacity = 3\nqueue_wait_ms = 5").is_ok());
    assert!(toml::from_str::<Config>("capacitty = 3").is_err());
}

#[test]
fn causes_show_in_one_line() {
    let error = Error::NoContainer {
        retry_after: Some(Duration::from_secs(2)),
        cause: Arc::new(Error::EngineAbsent {
            endpoint: "unix:///x".to_owned(),
            reason: "connection refused".to_owned(),
        }),
    };
    let failure = error.failure();
    assert_eq!(failure.code, Code::SandboxUnavailable);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(2)));
    assert_eq!(
        failure.message,
        "no sandbox could be started: container engine `unix:///x` does not answer: \
         connection refused"
    );
}

#[test]
fn pages_are_read_as_far_as_they_came() {
    let head = |bytes: usize| format!("{{\"status\":200,\"headers\":[],\"bytes\":{bytes}}}\n");
    let all = format!(
        "{}[1,\n2]{}[3]{{\"end\":\"pages\",\"next\":\"http://a.test/3\"}}\n",
        head(6),
        head(3)
    );
    let read = |text: &str| parse_answer(Bytes::copy_from_slice(text.as_bytes()), Form::Pages);
    let answer = read(&all).unwrap();
    let more = answer.pages.unwrap();
    assert_eq!((&answer.body[..], more.bodies.len()), (&b"[1,\n2]"[..], 1));
    assert_eq!((more.end.as_str(), more.next.as_deref()), ("pages", Some("http://a.test/3")));
    let cut = read(all.get(..all.find("[3]").unwrap() + 1).unwrap()).unwrap();
    let more = cut.pages.unwrap();
    assert_eq!((&cut.body[..], more.bodies.len(), more.end.as_str()), (&b"[1,\n2]"[..], 0, ""));
    assert!(read("").is_none());
}

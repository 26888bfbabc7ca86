//! What a caller, a manifest or an image could smuggle past the walls: the exact create body, keys that
//! no file may have, images that bring surprises along.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::daemon::{code, eventually, parsed, request};
use crate::expect::short;
use crate::requests::Scene;
use crate::site::{Engine, Runtime, arguments, image};
use crate::trial::Finding;
use crate::wire::Wire;

/// What the engine is asked for, to the letter.
const BODY: &str = include_str!("create-body.json");

/// Lines that would weaken a profile, each in a file of its own.
const PROFILE_KEYS: [&str; 20] = [
    "privileged = true",
    "cap_add = [\"SYS_ADMIN\"]",
    "binds = [\"/:/host\"]",
    "mounts = [\"/var/run/docker.sock\"]",
    "volumes = [\"/\"]",
    "pid_mode = \"host\"",
    "ipc_mode = \"host\"",
    "network_mode = \"host\"",
    "network = \"container:other\"",
    "userns_mode = \"host\"",
    "devices = [\"/dev/vda\"]",
    "security_opt = [\"seccomp=unconfined\"]",
    "runtime = \"runc --privileged\"",
    "oom_score_adj = -1000",
    "cgroup_parent = \"/\"",
    "sysctls = { \"net.ipv4.ip_forward\" = \"1\" }",
    "user = \"0\"",
    "tier = \"host\"",
    "readonly = false",
    "seccomp = \"unconfined\"",
];

/// The same for the command of a manifest.
const COMMAND_KEYS: [&str; 6] = [
    "cwd = \"/proc/self/fd/7\"",
    "user = \"0\"",
    "privileged = true",
    "shell = true",
    "env = { PATH = \"/tmp\" }",
    "env = { HTTPS_PROXY = \"http://evil.test\" }",
];

const PROFILE: &str = "image = \"python\"\nLINE\n[pool]\nmin = 0\nmax = 1\n";
const MANIFEST: &str = "name = \"NAME\"\ndescription = \"Hostile.\"\nprofile = \"PROFILE\"\n\
    risk = \"read\"\n[input_schema]\ntype = \"object\"\n[command]\nargv = [\"PROGRAM\"]\n\
    stdin = \"none\"\nLINE\n";

fn manifest(name: &str, profile: &str, program: &str, line: &str) -> String {
    MANIFEST
        .replace("NAME", name)
        .replace("PROFILE", profile)
        .replace("PROGRAM", program)
        .replace("LINE", line)
}

/// A working directory or a program through the runtime's own descriptors, CVE-2024-21626.
pub(crate) async fn descriptors(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let mut setup = site.engine.setup();
    for (index, line) in COMMAND_KEYS.iter().enumerate() {
        let name = format!("hostile.c{index}");
        let text = manifest(&name, "attack", "true", line);
        setup = setup.policy(&format!("tools/{name}.toml"), &text);
    }
    let programs = ["/proc/self/fd/7/../../../bin/sh", "/proc/1/root/bin/sh", "/proc/self/fd/3"];
    for (index, program) in programs.iter().enumerate() {
        let name = format!("hostile.p{index}");
        let text = manifest(&name, "attack", program, "");
        setup = setup.policy(&format!("tools/{name}.toml"), &text);
    }
    let daemon = setup.start().await;
    for (index, line) in COMMAND_KEYS.iter().enumerate() {
        let reply = daemon.call(&format!("hostile.c{index}"), &json!({})).await;
        let gone = code(&reply) == "UNKNOWN_TOOL";
        finding.check(gone, || format!("`{line}` gave {}", short(&reply)));
    }
    for (index, program) in programs.iter().enumerate() {
        let answer = daemon.try_call(request(&format!("hostile.p{index}"), "{}")).await;
        let reply = match &answer {
            Ok(reply) => parsed(reply),
            Err(status) => crate::site::Run::refused(status),
        };
        let stopped = reply["error"]["details"]["cause"] == "not_started";
        // Debian's gVisor breaks down over the first of them, and only that sandbox is gone.
        let gone = site.runtime() == Runtime::Runsc && code(&reply) == "SANDBOX_UNAVAILABLE";
        finding.check(stopped || gone, || format!("`{program}` gave {}", short(&reply)));
    }
    finding.saw(format!(
        "{} keys refused at load, {} programs not started",
        COMMAND_KEYS.len(),
        programs.len()
    ));
    let version = site.engine.lines(&[
        "version",
        "--format",
        "{{range .Server.Components}}{{if eq .Name \"runc\"}}{{.Version}}{{end}}{{end}}",
    ]);
    finding.saw(format!("runc {}", version.concat()));
}

/// Nothing that a caller or a file says reaches the create request, which is exactly ours.
pub(crate) async fn bodies(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    let wire = Wire::lay(&site.engine.endpoint);
    let mut setup = site.engine.setup_with(&wire.line());
    for (index, line) in PROFILE_KEYS.iter().enumerate() {
        let profile = format!("hostile{index}");
        setup = setup
            .policy(&format!("sandbox/{profile}.toml"), &PROFILE.replace("LINE", line))
            .policy(
                &format!("tools/{profile}.toml"),
                &manifest(&format!("hostile.{index}"), &profile, "true", ""),
            );
    }
    let daemon = setup.start().await;
    for (index, line) in PROFILE_KEYS.iter().enumerate() {
        let reply = daemon.call(&format!("hostile.{index}"), &json!({})).await;
        let gone = code(&reply) == "UNKNOWN_TOOL";
        finding.check(gone, || format!("`{line}` gave {}", short(&reply)));
    }
    let smuggled = json!({
        "HostConfig": { "Privileged": true, "Binds": ["/:/host"], "PidMode": "host" },
        "Privileged": true, "CapAdd": ["ALL"], "NetworkMode": "host", "User": "0",
    });
    for (name, value) in smuggled.as_object().unwrap() {
        let mut given = arguments("print('here')", "", &json!({}));
        given[name] = value.clone();
        let reply = daemon.try_call(request("attack", &given.to_string())).await.unwrap();
        let reply = parsed(&reply);
        let refused = code(&reply) == "SCHEMA_VALIDATION_ERROR";
        finding.check(refused, || format!("argument `{name}` gave {}", short(&reply)));
    }
    let given = arguments("print('here')", "", &json!({}));
    drop(daemon.try_call(request("attack", &given.to_string())).await);
    let creates = wire.creates();
    let all: Vec<Value> = creates.iter().map(|body| plain(body, finding)).collect();
    let ours = expected(&site.engine);
    let attack =
        all.iter().find(|body| body["HostConfig"]["PidsLimit"] == ours["HostConfig"]["PidsLimit"]);
    finding.check(attack == Some(&ours), || {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("create-body.json");
        let found = attack.or_else(|| all.first()).unwrap_or(&Value::Null);
        std::fs::write(&file, format!("{found:#}\n")).unwrap();
        format!("the create body is another one, see {}", file.display())
    });
    finding.saw(format!(
        "{} keys refused at load, {} create bodies",
        PROFILE_KEYS.len(),
        all.len()
    ));
}

/// The body with what differs from create to create taken out.
fn plain(body: &Value, finding: &mut Finding) -> Value {
    let mut body = body.clone();
    let labels: BTreeSet<String> = body["Labels"].as_object().unwrap().keys().cloned().collect();
    body["Labels"] = json!(labels);
    body["Image"] = json!("<image>");
    for option in body["HostConfig"]["SecurityOpt"].as_array_mut().unwrap() {
        let text = option.as_str().unwrap();
        if let Some(profile) = text.strip_prefix("seccomp=") {
            let profile: Value = serde_json::from_str(profile).unwrap();
            let errno = profile["defaultAction"] == "SCMP_ACT_ERRNO";
            finding.check(errno, || "the seccomp profile allows by default".to_owned());
            *option = json!("seccomp=<profile>");
        }
    }
    body
}

fn expected(engine: &Engine) -> Value {
    let mut body: Value = serde_json::from_str(BODY).unwrap();
    if engine.runtime == Runtime::Runsc {
        let host = &mut body["HostConfig"];
        host["Runtime"] = json!("runsc");
        host["Memory"] = json!(256 << 20);
        host["MemorySwap"] = json!(256 << 20);
        // The threads of gVisor's own processes are counted too.
        host["PidsLimit"] = json!(96 + 24 * 8);
    }
    body
}

const SURPRISES: &str = "
ENV LD_PRELOAD=/tmp/evil.so EVIL=yes PATH=/tmp
ONBUILD RUN touch /evil
WORKDIR /usr
USER 1234
EXPOSE 80
STOPSIGNAL SIGUSR1
HEALTHCHECK --interval=1s --timeout=1s CMD [\"/usr/bin/touch\", \"/tmp/health\"]
ENTRYPOINT [\"/usr/bin/python3\", \"-c\", \"print('evil')\"]
CMD [\"evil\"]
";

/// Images by a tag, by an id that the engine lacks, and one that brings surprises along.
pub(crate) async fn images(scene: Scene<'_>) {
    let Scene { site, finding, .. } = scene;
    for id in [
        "switchboard/python:latest",
        "registry.evil.test/python@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "sha256:1234",
    ] {
        let (code, told) = call_with(&site.engine, id, finding).await;
        finding
            .check(code == "SANDBOX_UNAVAILABLE", || format!("image `{id}` gave {code}: {told}"));
    }
    let absent = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let (code, told) = call_with(&site.engine, &absent, finding).await;
    finding.check(code == "SANDBOX_UNAVAILABLE", || format!("an absent image gave {code}: {told}"));
    let volumes = || site.engine.lines(&["volume", "ls", "--quiet"]).len();
    let before = volumes();
    let id = build(&site.engine, "VOLUME /data\n");
    let (code, told) = call_with(&site.engine, &id, finding).await;
    let refused = code == "SANDBOX_UNAVAILABLE" && told.contains("volumes");
    finding.check(refused, || format!("an image with a volume gave {code}: {told}"));
    drop(site.engine.docker(&["rmi", &id]));
    let id = build(&site.engine, SURPRISES);
    let (code, told) = call_with(&site.engine, &id, finding).await;
    let seen: Value = serde_json::from_str(&told).unwrap_or_default();
    let expected = json!({
        "environment": ["HOME", "LANG", "PATH", "TMPDIR"], "cwd": "/tmp", "health": false,
        "evil": false,
    });
    finding.check(seen == expected, || format!("in an image with surprises: {code} {told}"));
    finding.saw("a volume refused, all else overridden");
    eventually("its anonymous volumes are gone", || async { volumes() <= before }).await;
    drop(site.engine.docker(&["rmi", &id]));
}

/// A call with `id` as the image; gives its code, and what it printed or why not.
async fn call_with(engine: &Engine, id: &str, finding: &mut Finding) -> (String, String) {
    const LOOK: &str = "
import json, os, time
# Longer than the time between two looks at its health.
time.sleep(2)
print(json.dumps({
    'environment': sorted(os.environ), 'cwd': os.getcwd(),
    'health': os.path.exists('/tmp/health'), 'evil': os.path.exists('/evil'),
}))
";
    let wire = Wire::lay(&engine.endpoint);
    let file = wire.folder.path().join("images.toml");
    let text =
        format!("[image.python]\nreference = \"switchboard/python:latest\"\nid = \"{id}\"\n");
    std::fs::write(&file, text).unwrap();
    let line = wire.line();
    let sandbox = format!("{line}\nimages = \"{}\"\nqueue_wait_ms = 3000", file.display());
    let daemon = engine.setup_with(&sandbox).start_unready().await;
    let given = arguments(LOOK, "", &json!({}));
    let answer = daemon.try_call(request("attack", &given.to_string())).await;
    for line in wire.lines() {
        let pulls = line.contains("/images/create") || line.contains("/build");
        finding.check(!pulls, || format!("the engine was asked to fetch: {line}"));
    }
    match answer {
        Ok(reply) => {
            let reply = parsed(&reply);
            let told = if code(&reply) == "SUCCESS" { &reply["data"] } else { &reply["error"] };
            (code(&reply).to_owned(), told.to_string())
        }
        Err(status) => {
            let refused = crate::site::Run::refused(&status);
            (code(&refused).to_owned(), refused["error"]["message"].to_string())
        }
    }
}

/// Builds an image on top of ours; gives its id.
fn build(engine: &Engine, lines: &str) -> String {
    let mut child = Command::new("docker")
        .args(["--host", &engine.endpoint, "build", "--quiet", "-"])
        .env("DOCKER_BUILDKIT", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let text = format!("FROM {}\n{lines}", image());
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    told.lines().last().unwrap().trim().to_owned()
}

//! One runtime's proving ground: a daemon with the suite's own policies on one engine, and how to call
//! it. Gives each call's reply and record; decides nothing.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use switchboard::proto::tools::CallRequest;
use tonic_types::StatusExt;

use crate::daemon::{Daemon, Setup, parsed, request};
use crate::program::Case;
use crate::world::{SECRET, World};

/// The suite's own policies.
pub(crate) const POLICIES: &str = "tests/escape/policies";

/// A runtime of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    Runc,
    Runsc,
}

impl Runtime {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Runsc => "runsc",
        }
    }
}

/// An engine, and the runtime that it is used with.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) runtime: Runtime,
    /// `unix:///...`
    pub(crate) endpoint: String,
}

impl Engine {
    /// Runs the docker command line on this engine.
    pub(crate) fn docker(&self, arguments: &[&str]) -> Output {
        let output = Command::new("docker")
            .args(["--host", &self.endpoint])
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        output.unwrap()
    }

    /// The same, for what has to work; gives the lines of its answer.
    pub(crate) fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.docker(arguments);
        assert!(output.status.success(), "docker {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// A daemon's setup on this engine, with the suite's policies.
    pub(crate) fn setup(&self) -> Setup {
        self.setup_with(&format!("engine = \"{}\"", self.endpoint))
    }

    /// The same with these lines in the table `[sandbox]`.
    pub(crate) fn setup_with(&self, sandbox: &str) -> Setup {
        let config = format!("[sandbox]\n{sandbox}");
        let mut setup = Setup::of(&[POLICIES]).config(&config).env("ESCAPE_KEY", SECRET);
        // What a kernel of the sandbox's own needs counts against the same limit.
        if self.runtime == Runtime::Runsc {
            for profile in std::fs::read_dir(setup.policies().join("sandbox")).unwrap() {
                let name = profile.unwrap().file_name().into_string().unwrap();
                let name = format!("sandbox/{name}");
                setup = setup.edit(&name, "\"128MiB\"", "\"256MiB\"");
                setup = setup.edit(
                    &name,
                    "tier = \"call\"",
                    "tier = \"call\"\nruntime = \"runsc\"\n\
                     accept_unread = [\"inodes\", \"seccomp\"]",
                );
            }
        }
        setup
    }

    /// SHA-256 of the canary file in a fresh container.
    pub(crate) fn digest(&self) -> String {
        let (image, entry) = (image(), "--entrypoint=python3");
        let run = ["run", "--rm", "--network=none", entry, &image, "-I", "-c", DIGEST];
        self.lines(&run).concat()
    }

    /// Ids of an instance's containers, in any state.
    pub(crate) fn containers(&self, instance: &str) -> Vec<String> {
        let label = format!("label=switchboard.instance={instance}");
        self.lines(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &label])
    }
}

/// A service on the loopback of the engine's own machine, for a program to reach if it can.
pub(crate) struct Canary {
    engine: Engine,
    id: String,
    pub(crate) port: u16,
}

impl Canary {
    /// It runs in a container with the machine's own network.
    fn open(engine: &Engine) -> Self {
        let image = image();
        let id = engine.lines(&[
            "run",
            "--detach",
            "--rm",
            "--runtime=runc",
            "--network=host",
            "--entrypoint=python3",
            &image,
            "-I",
            "-u",
            "-c",
            CANARY,
        ]);
        let id = id.first().unwrap().clone();
        let port = loop {
            if let Some(port) = engine.lines(&["logs", &id]).first() {
                break port.parse().unwrap();
            }
        };
        Self { engine: engine.clone(), id, port }
    }

    /// How many have reached it.
    pub(crate) fn reached(&self) -> usize {
        self.engine.lines(&["logs", &self.id]).len() - 1
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        drop(self.engine.docker(&["rm", "--force", &self.id]));
    }
}

const CANARY: &str = "
import socket
one = socket.create_server(('127.0.0.1', 0))
print(one.getsockname()[1])
while True:
    one.accept()[0].close()
    print('reached')
";

/// The file of the image that programs try to change, see probe 25.
const DIGEST: &str = "
import hashlib, os
print(hashlib.sha256(open(os.path.join(os.path.dirname(os.__file__), 'this.py'), 'rb').read()).hexdigest())
";

/// Id of the image that the programs run in.
pub(crate) fn image() -> String {
    let path = std::path::Path::new(crate::daemon::ROOT).join("target/images.toml");
    let images: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    images["image"]["python"]["id"].as_str().unwrap().to_owned()
}

/// The arguments of the suite's tools.
pub(crate) fn arguments(code: &str, case: &str, input: &Value) -> Value {
    json!({ "code": code, "case": case, "input": input.to_string() })
}

/// A daemon on an engine.
pub(crate) struct Site {
    pub(crate) engine: Engine,
    pub(crate) daemon: Daemon,
    pub(crate) canary: Canary,
    pub(crate) world: World,
    /// What every program is told of its surroundings.
    pub(crate) input: Value,
}

/// What came of one call.
#[derive(Debug)]
pub(crate) struct Run {
    /// The reply; for a status that carries none, the code alone.
    pub(crate) reply: Value,
    /// The ledger's record.
    pub(crate) record: Value,
}

impl Run {
    /// What a status other than OK tells, in the shape of a reply.
    pub(crate) fn refused(status: &tonic::Status) -> Value {
        let details = status.get_error_details();
        let reason = details.error_info().map(|info| info.reason.clone()).unwrap_or_default();
        json!({ "error": { "code": reason, "message": status.message() } })
    }

    pub(crate) fn code(&self) -> &str {
        crate::daemon::code(&self.reply)
    }

    /// What the program printed.
    pub(crate) fn data(&self) -> &Value {
        &self.reply["data"]
    }

    /// The container it ran in.
    pub(crate) fn container(&self) -> Option<&str> {
        self.record["facts"]["run"]["container"].as_str()
    }
}

impl Site {
    pub(crate) async fn open(engine: Engine, world: &World) -> Self {
        let daemon = engine.setup().start().await;
        let canary = Canary::open(&engine);
        let input = json!({
            "canary": engine.digest(),
            "canary_port": canary.port,
            "grpc": daemon.address("tcp").port(),
            "metrics": daemon.address("metrics").port(),
        });
        Self { engine, daemon, canary, world: world.clone(), input }
    }

    pub(crate) fn runtime(&self) -> Runtime {
        self.engine.runtime
    }

    /// Runs one case of an attacking program.
    pub(crate) async fn attack(&self, tool: &str, code: &str, case: &str) -> Run {
        self.call(tool, &arguments(code, case, &self.input)).await
    }

    /// Runs a case as its header says.
    pub(crate) async fn run(&self, code: &str, case: &Case) -> Run {
        let given = arguments(code, &case.name, &self.input);
        let call = request(&case.tool, &given.to_string());
        self.send(CallRequest { output_files: case.wanted.clone(), ..call }).await
    }

    /// One call, whatever comes of it.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Run {
        self.send(request(tool, &arguments.to_string())).await
    }

    async fn send(&self, mut call: CallRequest) -> Run {
        let id = uuid::Uuid::new_v4().to_string();
        call.call_id.clone_from(&id);
        let reply = match self.daemon.try_call(call).await {
            Ok(reply) => parsed(&reply),
            Err(status) => Run::refused(&status),
        };
        Run { reply, record: self.record(&id) }
    }

    /// The ledger's record of a call; null when there is none.
    pub(crate) fn record(&self, id: &str) -> Value {
        let config = self.daemon.folder().join("switchboard.toml").display().to_string();
        let output = self.daemon.cli(&["ledger", "show", id, "--json", "--config", &config]);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Whether an ordinary call is answered.
    pub(crate) async fn answers(&self) -> Result<(), String> {
        let run = self.attack("attack", "print('{\"here\": true}')", "").await;
        match run.data() == &json!({ "here": true }) {
            true => Ok(()),
            false => Err(format!("the next call failed: {}", run.reply)),
        }
    }
}

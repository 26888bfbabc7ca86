//! The attacking programs: a file of `probes/` in, what it tries and what has to be observed out.
//! The header comment of each says both, the second as TOML between two lines of dashes.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::daemon::ROOT;
use crate::site::Runtime;

/// One attacking program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) number: u32,
    pub(crate) header: Header,
    /// With the common beginning before it.
    pub(crate) code: String,
}

/// What stands between the dashes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// A few words for the printed line.
    pub(crate) probe: String,
    /// The scenario of a public suite that it covers.
    #[serde(default)]
    pub(crate) class: String,
    /// Each runs in a container of its own, in this order.
    #[serde(default)]
    pub(crate) case: Vec<Case>,
    /// The same program without the defence; it has to succeed.
    #[serde(default)]
    pub(crate) control: Vec<Control>,
}

/// One run of a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The program's first argument.
    #[serde(default)]
    pub(crate) name: String,
    /// The tool that runs it.
    #[serde(default = "attack")]
    pub(crate) tool: String,
    /// Files that the call asks for.
    #[serde(default)]
    pub(crate) wanted: Vec<String>,
    code: Option<String>,
    observed: Option<toml::Value>,
    #[serde(default)]
    reply: toml::Table,
    /// What is different on gVisor.
    runsc: Option<Expected>,
}

/// What has to be seen. Members that are absent are not looked at.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// The reply's code; SUCCESS when absent.
    pub(crate) code: Option<String>,
    /// What the program printed, exactly.
    pub(crate) observed: Option<toml::Value>,
    /// Nothing is looked at in what the program printed: it may be gone with its sandbox.
    #[serde(default)]
    pub(crate) lost: bool,
    /// Places in the reply, by JSON Pointer.
    #[serde(default)]
    pub(crate) reply: toml::Table,
}

/// A run outside the sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    /// What is off, in a few words.
    pub(crate) off: String,
    /// Case of the program.
    #[serde(default)]
    pub(crate) case: String,
    /// Flags of `docker run`.
    pub(crate) flags: Vec<String>,
    /// Some of what the program has to print.
    pub(crate) observed: toml::Table,
    /// Why it is left out on gVisor, if it is.
    pub(crate) not_on_runsc: Option<String>,
}

fn attack() -> String {
    "attack".to_owned()
}

impl Case {
    /// What has to be seen on `runtime`.
    pub(crate) fn on(&self, runtime: Runtime) -> Expected {
        let mut expected = Expected {
            code: self.code.clone(),
            observed: self.observed.clone(),
            lost: false,
            reply: self.reply.clone(),
        };
        let Some(other) = self.runsc.clone().filter(|_| runtime == Runtime::Runsc) else {
            return expected;
        };
        expected.code = other.code.or(expected.code);
        expected.observed = match (expected.observed, other.observed) {
            (Some(toml::Value::Table(mut usual)), Some(toml::Value::Table(different))) => {
                usual.extend(different);
                Some(toml::Value::Table(usual))
            }
            (usual, different) => different.or(usual),
        };
        expected.reply.extend(other.reply);
        if other.lost {
            expected.observed = None;
            expected.reply.clear();
        }
        expected
    }
}

/// Every program, by number.
pub(crate) fn all() -> Vec<Program> {
    let folder = Path::new(ROOT).join("tests/escape/probes");
    let beginning = std::fs::read_to_string(folder.join("attack.py")).unwrap();
    let mut programs: Vec<Program> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| read(&path, &beginning))
        .collect();
    programs.sort_by_key(|program| program.number);
    programs
}

fn read(path: &PathBuf, beginning: &str) -> Option<Program> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let number = name.split('-').next().unwrap().parse().ok()?;
    let text = std::fs::read_to_string(path).unwrap();
    let header = text
        .split("# ---\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{name} has no header between dashes"))
        .lines()
        .map(|line| line.trim_start_matches('#').strip_prefix(' ').unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let header = toml::from_str(&header).unwrap_or_else(|error| panic!("{name}: {error}"));
    Some(Program { number, header, code: format!("{beginning}{text}") })
}

//! The manifest of the tests' shell tool under another name and profile.

/// A tool `name` that runs a shell script under `profile`.
pub fn tool(name: &str, profile: &str) -> String {
    include_str!("../fixtures/policies/tools/probe-sh.toml")
        .replace("\"probe.sh\"", &format!("\"{name}\""))
        .replace("\"probe\"", &format!("\"{profile}\""))
}

//! Declared agents, `agents/*.toml` of the policies folder: who they are, and what each may use.

/// The agents that are declared.
#[derive(Debug, Clone, Default)]
pub struct Agents {}

//! The memory of agents: what is worth keeping in, evidence out.

pub mod guard;
pub mod instant;
pub mod redact;
#[cfg(test)]
mod tests;

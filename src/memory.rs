//! The memory of agents: what is worth keeping in, evidence out. So far it makes vectors of texts.

pub mod embed;

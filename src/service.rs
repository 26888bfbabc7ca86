//! The gRPC face: wire types in, wire types out. Thinks nothing; `pipeline` does.

mod arrival;
mod batch;
mod files;
mod listing;
mod memory;
mod native;
mod policy;
mod reason;
mod result;
mod status;
mod tools;
mod underway;
mod wire;

pub use arrival::Door;
pub(crate) use memory::DraftRead;
pub use memory::Memories;
pub use policy::Policies;
pub use reason::Reasons;
pub use tools::Tools;

//! The generated wire types. Only `service`, `server` and the command line's client use them.

/// `switchboard.tools.v1`.
pub mod tools {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::large_enum_variant,
        clippy::allow_attributes_without_reason,
        clippy::too_many_lines,
        reason = "generated code; it is documented in the proto file"
    )]
    tonic::include_proto!("switchboard.tools.v1");
}

/// `switchboard.policy.v1`.
pub mod policy {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        clippy::too_many_lines,
        reason = "generated code; it is documented in the proto file"
    )]
    tonic::include_proto!("switchboard.policy.v1");
}

/// `switchboard.memory.v1`.
pub mod memory {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        clippy::too_many_lines,
        reason = "generated code; it is documented in the proto file"
    )]
    tonic::include_proto!("switchboard.memory.v1");
}

/// `switchboard.reason.v1`.
pub mod reason {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        clippy::too_many_lines,
        reason = "generated code; it is documented in the proto file"
    )]
    tonic::include_proto!("switchboard.reason.v1");
}

/// Every message and service, encoded for server reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Type URL of a [`tools::Reply`] among the details of a status.
pub const REPLY_TYPE_URL: &str = "type.googleapis.com/switchboard.tools.v1.Reply";

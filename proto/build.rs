//! Compiles the proto files with protox, so that no protoc has to be installed.

use std::path::Path;

use prost::Message;

/// One for each service.
const FILES: [&str; 4] = [
    "switchboard/tools/v1/tools.proto",
    "switchboard/policy/v1/policy.proto",
    "switchboard/memory/v1/memory.proto",
    "switchboard/reason/v1/reason.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    std::fs::write(Path::new(&out).join("descriptors.bin"), descriptors.encode_to_vec())?;
    // Files are not copied on their way.
    tonic_prost_build::configure()
        .bytes("switchboard.tools.v1.File.content")
        .bytes("switchboard.memory.v1.ImageFile.content")
        .compile_fds(descriptors)?;
    println!("cargo:rerun-if-changed=proto");
    Ok(())
}

# The commands of everyday work. `just ci` is what continuous integration runs.

# Formats, then lints as the checks do.
check:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# Runs the tests; names the ones to run, or none for all.
test *names:
    cargo test --workspace {{names}}

# Builds the sandbox images.
images:
    sandbox-images/build.sh

# Measures; prints name, value and unit.
bench *names:
    cargo bench {{names}}

# Builds the daemon's own image.
image:
    deploy/image/build.sh

# From nothing to answered calls.
quickstart *flags:
    deploy/quickstart.sh {{flags}}

# Everything that has to hold.
ci:
    .ci/run

#!/usr/bin/env bash
# The escape suite: each probe attacks the real sandbox through the real daemon, on runc and on gVisor,
# and has to end in exactly what its file says. Prints a line a probe; the last line counts. Needs root
# and a Docker engine; gVisor (`runsc`, in Debian's packages) gets an engine of its own for the time.
#
#   tests/escape/run.sh                      everything
#   tests/escape/run.sh --only runc 12 22    these probes on this runtime
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -n "${WITH_ENGINE:-}" ] || exec deploy/with-engine.sh "$PWD/tests/escape/run.sh" "$@"

sandbox-images/build.sh >&2
cargo build --quiet --bin switchboard
suite=$(cargo test --quiet --test escape --no-run --message-format json |
    jq -r 'select(.target.name == "escape" and .executable) | .executable')
exec "$suite" "$@"

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

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
deploy/packages.sh jq=jq ip=iproute2 unshare=util-linux
sandbox-images/build.sh >&2
suite=$(cargo test --quiet --test escape --no-run --message-format json |
    jq -r 'select(.target.name? == "escape" and .executable) | .executable')

# gVisor's own engine; where it cannot run, the suite says why. Sockets need a short path.
runsc=()
if [[ " $* " != *" --only runc "* ]]; then
    folder=$(mktemp -d /tmp/escape-XXXXXX)
    trap 'tests/escape/engine.sh stop "$folder"; rm -f "$folder.log"' EXIT
    mapfile -t images < <(sed -n 's/^id = "\(.*\)"/\1/p' "$target/images.toml")
    status=0
    endpoint=$(tests/escape/engine.sh start "$folder" "${images[@]}" 2> "$folder.log") || status=$?
    case $status in
    0) runsc=(--runsc "$endpoint") ;;
    3) runsc=(--no-runsc "$(tail -n 1 "$folder.log")") ;;
    *) cat "$folder.log" >&2; exit 1 ;;
    esac
fi
"$suite" "${runsc[@]}" "$@"

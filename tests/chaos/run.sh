#!/usr/bin/env bash
# Calls under fire: the daemon is killed, the engine restarted and callers go away while calls run.
# Prints one figure a line; exit 1 when anything was left over, lost, doubled or without a verdict.
# Starts an engine of its own, so it needs root or sudo without a password; the machine's engine is
# only asked for the sandbox images.
#
#   tests/chaos/run.sh                in full: 10,000 calls, 50 kills, 3 restarts of the engine;
#                                     about 25 minutes on two cores
#   tests/chaos/run.sh short          300 calls, 3 kills, 1 restart; about a minute. The same calls
#                                     every time; SEED=N for others
#   tests/chaos/run.sh --calls N --kills N --engine-restarts N --seed N
#                                     any of them in place of the full run's
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -n "${WITH_ENGINE:-}" ] || exec deploy/with-engine.sh "$PWD/tests/chaos/run.sh" "$@"

sandbox-images/build.sh
if [ "${1:-}" = short ]; then
    shift
    # In the profile that the other tests have built already.
    exec cargo test --quiet --bench chaos -- \
        --calls 300 --kills 3 --engine-restarts 1 --seed "${SEED:-1}" "$@"
fi
exec cargo bench --quiet --bench chaos -- "$@"

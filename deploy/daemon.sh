# Sourced by scripts that start a daemon of their own, and other servers beside it, and end all of them
# whatever happens. `name` is the script's, in its messages; `target` the build folder.
#
# What it gives: `state`, a folder that lasts as long as the script; `endpoint` and `instance` of the daemon;
# `processes`, which are ended last first; and the functions below.
# shellcheck shell=bash disable=SC2034,SC2154

switchboard=$target/release/switchboard
state=$(mktemp -d "${TMPDIR:-/tmp}/switchboard-$name.XXXXXX")
endpoint=unix://$state/switchboard.sock
instance=$name-${state##*.}
processes=()

finish() {
    local status=$? at log
    trap - EXIT
    for ((at = ${#processes[@]} - 1; at >= 0; at--)); do
        kill "${processes[at]}" 2>/dev/null || true
        wait "${processes[at]}" || true
    done
    if [ "$status" -ne 0 ]; then
        for log in "$state"/*.log; do
            [ -s "$log" ] || continue
            echo "$name: ${log##*/} ends with:" >&2
            tail -n 20 "$log" >&2
        done
    fi
    rm -rf "$state"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# until_true SECONDS WHAT COMMAND...: waits until the command succeeds.
until_true() {
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "$name: $what did not happen in time" >&2
            return 1
        fi
        sleep 0.05
    done
}

# start LOG COMMAND...: starts a server whose output goes to LOG.log. Its process is `started`.
start() {
    "${@:2}" >"$state/$1.log" 2>&1 &
    started=$!
    processes+=("$started")
}

# address LOG: waits for a server that prints `... listening on ADDRESS`, and sets `address` to that.
address() {
    until_true 10 "start of the $1 server" grep -q listening "$state/$1.log"
    address=$(sed -n 's/.*listening on \(.*\)$/\1/p' "$state/$1.log")
}

# policies_for ADDRESS: the policies of the repository, with an order service at this address.
policies_for() {
    cp -r policies "$state/policies"
    sed -i "s/18080/${1##*:}/" "$state/policies/openapi/orders.openapi.yaml" \
        "$state/policies/sandbox/orders.toml"
}

# daemon: starts one with `$state/switchboard.toml`, which begins as the first part here says and goes on
# with standard input.
daemon() {
    {
        cat <<TOML
[server]
socket = "$state/switchboard.sock"
metrics = "127.0.0.1:0"
[policies]
folder = "$state/policies"
[sandbox]
instance = "$instance"
images = "$target/images.toml"
[ledger]
path = "$state/ledger.db"
[admission.identity]
tokens = "$state/tokens.toml"
[memory.embedder]
local = { folder = "${SWITCHBOARD_MODEL:-$PWD/target/model}" }
TOML
        cat
    } >"$state/switchboard.toml"
    start daemon "$switchboard" serve --config "$state/switchboard.toml"
    daemon=$started
    until_true 30 "start of the daemon" answers health
    until_true 90 "start of the memory" answers memory stats
}

# answers COMMAND...: whether the daemon does; ends the script where it is no more.
answers() {
    kill -0 "$daemon" 2>/dev/null || exit 1
    "$switchboard" "$@" --endpoint "$endpoint" >/dev/null 2>&1
}

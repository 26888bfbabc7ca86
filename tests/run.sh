#!/usr/bin/env bash
# Checks everything: sets up what is missing, a PostgreSQL server for the tests too, then format, lints, tests, the Python and TypeScript
# clients, and calls while daemon and engine are killed.
# Each step runs to its end or its time limit; the summary says how each went,
# and its last line how many steps passed and failed.
#
#   tests/run.sh             everything
#   tests/run.sh lint tests  only these steps
set -uo pipefail
cd "$(dirname "$0")/.." || exit
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export target
steps=(packages images postgres format lint tests client client-ts chaos escape)
only=("$@")
for name in "${only[@]}"; do
    if [[ " ${steps[*]} " != *" $name "* ]]; then
        echo "tests/run.sh: there is no step $name; the steps are: ${steps[*]}" >&2
        exit 2
    fi
done
[ -n "${WITH_ENGINE:-}" ] || exec deploy/with-engine.sh "$PWD/tests/run.sh" "$@"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

results=()
failed=0

# step NAME SECONDS COMMAND...: runs one step and notes how it went.
step() {
    local name=$1 limit=$2 began=$SECONDS status=0
    shift 2
    if [ ${#only[@]} -gt 0 ] && [[ " ${only[*]} " != *" $name "* ]]; then return; fi
    echo "=== $name"
    timeout --kill-after=10 "$limit" "$@" || status=$?
    case $status in
    0) results+=("ok      $name, $((SECONDS - began)) s") ;;
    124 | 137) results+=("FAILED  $name, not done after $limit s") ;;
    *) results+=("FAILED  $name, exit $status, $((SECONDS - began)) s") ;;
    esac
    [ "$status" -eq 0 ] || failed=$((failed + 1))
}

packages() {
    deploy/packages.sh cc=build-essential jq=jq
    # python3 can be there without the modules that make an environment.
    python3 -c 'import venv, ensurepip' 2>/dev/null ||
        deploy/packages.sh python3=python3 python3-with-venv=python3-venv
    deploy/packages.sh node=nodejs npm=npm
}

tests() {
    if command -v cargo-nextest >/dev/null; then
        cargo nextest run --workspace --no-fail-fast --status-level fail
    else
        cargo test --workspace --no-fail-fast --quiet
    fi
}

# What both clients are checked with. The package gets its stubs from today's proto files.
python_client() {
    local here=tests/clients/python venv=$target/python
    export PATH=$venv/bin:$PATH
    if ! cmp -s $here/requirements.txt "$venv"/installed.txt; then
        python3 -m venv "$venv"
        pip install --quiet --disable-pip-version-check -r $here/requirements.txt
        cp $here/requirements.txt "$venv"/installed.txt
    fi
    pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --force-reinstall ./$here
    cargo build --quiet --bin switchboard
}

client() {
    python_client
    local here=tests/clients/python
    local check=(mypy --config-file "$here/pyproject.toml" --cache-dir "$target/mypy")
    "${check[@]}" -p switchboard_client
    "${check[@]}" $here/examples/*.py tests/clients/bed/*.py tests/clients/model/*.py
    python $here/check.py "$target/debug/switchboard" "$target/images.toml"
}

client_ts() {
    python_client
    local binary=$target/debug/switchboard images=$target/images.toml
    cd tests/clients/typescript || return
    if ! cmp -s package-lock.json node_modules/installed.json; then
        npm ci --silent
        cp package-lock.json node_modules/installed.json
    fi
    python ../bed/bed.py "$binary" "$images" npm test --silent
}

# The escape suite is no part of all targets, since only its own script runs it.
lint() {
    cargo clippy --workspace --all-targets --quiet -- -D warnings
    cargo clippy --test escape --quiet -- -D warnings
}

# The server for the tests of the shared store; whatever comes, it ends with this script.
postgres() {
    tests/postgres.sh start >/dev/null
}
trap 'tests/postgres.sh stop' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# `timeout` starts programs only; a new shell knows these functions by name.
export -f packages postgres lint tests python_client client client_ts
shell=(bash -euo pipefail -c)

step packages 600 "${shell[@]}" packages
step images 900 sandbox-images/build.sh
step postgres 300 "${shell[@]}" postgres
step format 60 cargo fmt --all --check
step lint 1800 "${shell[@]}" lint
step tests 2400 "${shell[@]}" tests
step client 900 "${shell[@]}" client
step client-ts 600 "${shell[@]}" client_ts
step chaos 600 tests/chaos/run.sh short
step escape 1200 tests/escape/run.sh

echo
printf '%s\n' "${results[@]}"
echo "$((${#results[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]

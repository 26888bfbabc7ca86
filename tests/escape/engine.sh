#!/usr/bin/env bash
# A second Docker engine of the tests' own, with gVisor as a runtime: everything below one folder,
# beside an engine that runs already, and stopped by its own process id.
#
#   tests/escape/engine.sh start DIR [IMAGE]...   prints unix://DIR/docker.sock; loads each IMAGE
#                                                 (default: those of target/images.toml) from the
#                                                 engine that runs
#   tests/escape/engine.sh stop DIR               ends it, and removes DIR
#
# Exit code 3 says in the last line of standard error why gVisor cannot run here, so that a suite can
# skip in the open.
#
# What was learned with Debian 12's runsc (release-20221219, platform ptrace):
# - No `--ignore-cgroups`: with it nothing bounds the sandbox. Without it runsc makes the container's
#   cgroup on the host like runc, /sys/fs/cgroup/CONTROLLER/docker/ID, and puts the kernel it emulates,
#   its file server and every guest process in it. Memory, swap, processor and process limits hold
#   there, and can be read there. Inside there is no /sys/fs/cgroup to read; only MemTotal shows it.
# - The process limit counts threads of the host: about 15 of the file server and 25 of the kernel
#   before the tool starts, then 2 or more for each guest thread. Below about 60 the sandbox does not
#   start ("cannot read client sync file"); when it runs out later, the whole sandbox dies.
# - System calls are filtered only with `--oci-seccomp`, and every refused call gives EPERM then, whatever
#   error the profile names: an ENOSYS for clone3 must be left to the emulated kernel.
# - The scratch disk (tmpfs) has its size, and no limit of files: statfs shows 0 inodes.
# - The network is none twice: of the runtime (`--network=none`) and of the container.
# - A memory limit kills the emulated kernel, so the whole sandbox: the runner reports nothing.
# - `--bridge none --iptables=false` keeps this engine away from the host's network.
set -euo pipefail

say() { printf 'escape engine: %s\n' "$*" >&2; }
fail() { say "$2"; exit "$1"; }
# Longest wait for the engine to come up or to end, in tenths of a second.
patience=300

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

alive() { as_root kill -0 "$1" 2> /dev/null; }

start() {
    local dir=$1 socket pid left=$patience image repo
    shift
    repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    "$repo/deploy/packages.sh" runsc=runsc || fail 3 "runsc cannot be installed from the distribution"
    command -v dockerd > /dev/null || fail 3 "there is no dockerd here to start a second time"
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    [ ! -e "$dir/docker.pid" ] || fail 1 "$dir is in use; stop that engine first"
    socket=unix://$dir/docker.sock
    # A path of a Unix socket has at most 107 bytes, and containerd's is the longest here.
    [ ${#dir} -le 60 ] || fail 1 "the path $dir is too long for sockets; name a shorter one"
    printf '{"runtimes":{"runsc":{"path":"%s","runtimeArgs":["--network=none","--oci-seccomp"]}}}\n' \
        "$(command -v runsc)" > "$dir/daemon.json"
    as_root setsid dockerd --config-file "$dir/daemon.json" --host "$socket" \
        --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" \
        --bridge none --iptables=false --ip6tables=false \
        > "$dir/log" 2>&1 < /dev/null &
    pid=$!
    until docker -H "$socket" version > /dev/null 2>&1; do
        left=$((left - 1))
        if [ $left -le 0 ] || ! alive "$pid"; then
            tail -n 5 "$dir/log" >&2
            fail 1 "the second engine does not answer"
        fi
        sleep 0.1
    done
    if [ $# -eq 0 ]; then
        # By id: a tag may have moved on to the images of another build.
        mapfile -t images < <(sed -n 's/^id = "\(.*\)"/\1/p' "$repo/target/images.toml")
        [ ${#images[@]} -gt 0 ] || fail 1 "run sandbox-images/build.sh first"
        set -- "${images[@]}"
    fi
    for image in "$@"; do
        docker save "$image" | docker -H "$socket" load --quiet > /dev/null
    done
    # One container shows whether gVisor starts here at all.
    if ! docker -H "$socket" run --rm --runtime runsc --network none --memory 64m --memory-swap 64m \
        --pids-limit 200 --entrypoint /runner "$1" http < /dev/null > /dev/null 2> "$dir/trial" &&
        grep -q 'OCI runtime' "$dir/trial"; then
        cat "$dir/trial" >&2
        stop "$dir"
        fail 3 "gVisor does not start here"
    fi
    printf '%s\n' "$socket"
}

stop() {
    local dir=$1 pid left=$patience
    [ -d "$dir" ] || return 0
    dir=$(cd "$dir" && pwd)
    [ -e "$dir/daemon.json" ] || fail 1 "$dir holds no engine of ours"
    if [ -e "$dir/docker.pid" ]; then
        pid=$(cat "$dir/docker.pid")
        if docker -H "unix://$dir/docker.sock" ps --all --quiet > "$dir/left" 2> /dev/null; then
            xargs -r docker -H "unix://$dir/docker.sock" rm --force < "$dir/left" > /dev/null 2>&1 || true
        fi
        as_root kill "$pid" 2> /dev/null || true
        while alive "$pid"; do
            left=$((left - 1))
            [ $left -gt 0 ] || { as_root kill -9 "$pid" || true; break; }
            sleep 0.1
        done
    fi
    # What an engine that was killed left mounted.
    awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/self/mounts | sort -r |
        while read -r mount; do as_root umount "$mount" || true; done
    as_root rm -rf "$dir"
}

case ${1:-}:${2:-} in
    start:?*) shift; start "$@" ;;
    stop:?*) stop "$2" ;;
    *) sed -n '5,7p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac

#!/usr/bin/env bash
# Makes sure that a Docker engine answers: does nothing if one does, else installs (Debian, Ubuntu)
# and starts one. Says what it does; fails with the end of the engine's log.
# usage: engine.sh [--check]     --check only tells whether an engine answers
set -euo pipefail

# Longest wait for the engine's socket, in seconds.
patience=60
log=${TMPDIR:-/tmp}/switchboard-dockerd.log

say() { printf 'engine: %s\n' "$*" >&2; }
fail() {
    say "$*"
    if [ -s "$log" ]; then
        say "the end of $log:"
        tail -n 20 "$log" >&2
    fi
    exit 1
}

answers() {
    if command -v docker > /dev/null; then
        docker version --format '{{.Server.Version}}' > /dev/null 2>&1
    else
        local socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
        case $socket in
            unix://*) curl -fsS -m 5 --unix-socket "${socket#unix://}" http://d/_ping > /dev/null 2>&1 ;;
            *) return 1 ;;
        esac
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo > /dev/null; then sudo "$@"
    else fail "needs root or sudo to run: $*"
    fi
}

install_engine() {
    command -v apt-get > /dev/null \
        || fail "no dockerd here and no apt-get to install one; install a Docker engine and start again"
    say "installing docker.io with apt-get"
    as_root apt-get update -qq || fail "apt-get update failed"
    local packages=(docker.io iptables)
    # Newer releases have the client in a package of its own, which docker.io only recommends.
    if apt-cache policy docker-cli 2> /dev/null | grep -q 'Candidate: [^(]'; then
        packages+=(docker-cli)
    fi
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${packages[@]}" > "$log" 2>&1 \
        || fail "apt-get could not install ${packages[*]}"
}

# A bare container has no cgroup file systems, and the engine needs them.
mount_cgroups() {
    mountpoint -q /sys/fs/cgroup && return
    say "mounting cgroups"
    if grep -qw cgroup2 /proc/filesystems \
        && as_root mount -t cgroup2 none /sys/fs/cgroup 2> /dev/null \
        && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
        return
    fi
    as_root umount /sys/fs/cgroup 2> /dev/null || true
    as_root mount -t tmpfs cgroup /sys/fs/cgroup || return 0
    local controller
    for controller in $(awk '!/^#/ && $4 == 1 { print $1 }' /proc/cgroups); do
        as_root mkdir -p "/sys/fs/cgroup/$controller"
        as_root mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" 2> /dev/null \
            || as_root rmdir "/sys/fs/cgroup/$controller"
    done
}

# Waits for the engine; PID, if given, must stay alive meanwhile.
await() {
    local pid=${1:-} until=$((SECONDS + patience))
    while ! answers && ! as_root docker version > /dev/null 2>&1; do
        [ $SECONDS -lt $until ] || return 1
        if [ -n "$pid" ] && ! kill -0 "$pid" 2> /dev/null && ! as_root kill -0 "$pid" 2> /dev/null; then
            return 1
        fi
        sleep 0.2
    done
}

start_engine() {
    if [ -d /run/systemd/system ]; then
        say "starting the engine with systemd"
        as_root systemctl start docker > /dev/null 2>&1 && await && return
        fail "systemd did not bring the engine up: see journalctl -u docker"
    fi
    if [ -x /etc/init.d/docker ] && command -v service > /dev/null; then
        say "starting the engine with its init script"
        mount_cgroups
        if as_root service docker start > /dev/null 2>&1 && quick_await; then return; fi
        say "the init script did not bring it up"
    fi
    say "starting dockerd in the background, log in $log"
    mount_cgroups
    # What a killed engine left behind would stop the new one.
    if [ -e /var/run/docker.pid ] && ! as_root kill -0 "$(cat /var/run/docker.pid)" 2> /dev/null; then
        as_root rm -f /var/run/docker.pid
    fi
    if [ "$(id -u)" = 0 ]; then
        setsid nohup dockerd > "$log" 2>&1 < /dev/null &
    else
        sudo setsid nohup dockerd > "$log" 2>&1 < /dev/null &
    fi
    await $! || fail "dockerd does not answer"
}

quick_await() {
    patience=15 await
}

if answers; then
    say "an engine answers"
    exit 0
fi
if [ "${1:-}" = --check ]; then
    say "no engine answers"
    exit 1
fi
if [ -n "${DOCKER_HOST:-}" ]; then
    fail "the engine at DOCKER_HOST=$DOCKER_HOST does not answer; start it, or unset DOCKER_HOST"
fi
# The client alone is no engine.
command -v dockerd > /dev/null || as_root sh -c 'command -v dockerd' > /dev/null || install_engine
start_engine
if ! answers; then
    fail "the engine runs, but not for this user: add yourself to the group docker, or use sudo"
fi
say "the engine answers: $(docker version --format 'Docker {{.Server.Version}}, API {{.Server.APIVersion}}' 2> /dev/null)"

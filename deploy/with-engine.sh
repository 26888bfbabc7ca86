#!/usr/bin/env bash
# Sees to it that an engine answers, then becomes COMMAND with access to it.
#
#   deploy/with-engine.sh COMMAND...     COMMAND finds WITH_ENGINE=yes in its environment
set -euo pipefail

engine=$(dirname "$0")/engine.sh
export WITH_ENGINE=yes
if [ "$(id -u)" -eq 0 ] || [ -n "${DOCKER_HOST:-}" ] || "$engine" --check 2>/dev/null; then
    "$engine"
    exec "$@"
fi

fail() { printf 'with-engine: %s\n' "$*" >&2; exit 1; }
command -v sudo > /dev/null ||
    fail "the engine is for root and the group docker; be one of them, or install sudo"

# The engine admits root and the group docker. Stay the same user, with that group beside.
sudo "$engine"
docker=$(getent group docker | cut -d: -f3) || docker=
[ -n "$docker" ] || fail "there is no group docker that the engine would admit; be root"
groups=$(id -G | tr ' ' ,),$docker

# sudo drops the environment, and logs its command line; so it goes through a file.
kept=$(mktemp)
env -0 > "$kept"
exec sudo setpriv --reuid "$(id -u)" --regid "$(id -g)" --groups "$groups" bash -c '
    mapfile -d "" -t all < "$0"
    rm -f "$0"
    exec env -i "${all[@]}" "$@"' "$kept" "$@"

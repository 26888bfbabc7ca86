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

# The engine admits root and the group docker. Stay the same user, with that group beside.
sudo "$engine"
groups=$(id -G | tr ' ' ,),$(getent group docker | cut -d: -f3)
exec sudo setpriv --reuid "$(id -u)" --regid "$(id -g)" --groups "$groups" \
    env PATH="$PATH" HOME="$HOME" WITH_ENGINE=yes "$@"

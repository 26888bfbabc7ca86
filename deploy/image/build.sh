#!/usr/bin/env bash
# Builds the daemon's own image from nothing: the binary, the libraries it is linked with, the root
# certificates, the embedding model and the default configuration. No shell, no package manager, no
# image registry.
#
#   deploy/image/build.sh [TAG]     default: switchboard:latest
set -euo pipefail
cd "$(dirname "$0")/../.."
tag=${1:-switchboard:latest}

model=${SWITCHBOARD_MODEL:-target/model}
deploy/model.sh "$model"
cargo build --release --quiet --bin switchboard
binary=${CARGO_TARGET_DIR:-target}/release/switchboard
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

install -D -m 755 "$binary" "$root/usr/bin/switchboard"
# The loader and each library, at the path where the binary looks for it.
ldd "$binary" | grep -o '/[^ ]*' | while read -r library; do
    install -D -m 755 "$(readlink -f "$library")" "$root$library"
done
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
install -D -m 644 deploy/switchboard.toml "$root/etc/switchboard/switchboard.toml"
install -D -m 644 --target-directory "$root/usr/share/switchboard/model" "$model"/*
install -d "$root/etc/switchboard/policies"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
printf 'switchboard:x:10001:10001::/var/lib/switchboard:/nonexistent\n' >"$root/etc/passwd"
printf 'switchboard:x:10001:\n' >"$root/etc/group"
install -d -m 1777 "$root/tmp"
install -d -m 750 "$work/own/run/switchboard" "$work/own/var/lib/switchboard"

# Fixed times, order and owners: equal contents give an equal layer.
fixed=(--format=gnu --sort=name --mtime=@0 --numeric-owner)
tar "${fixed[@]}" --owner=0 --group=0 -C "$root" -cf "$work/layer.tar" .
tar "${fixed[@]}" --owner=10001 --group=10001 -C "$work/own" -rf "$work/layer.tar" \
    run/switchboard var/lib/switchboard
docker import --change 'USER 10001:10001' \
    --change 'ENTRYPOINT ["/usr/bin/switchboard"]' \
    --change 'CMD ["serve", "--config", "/etc/switchboard/switchboard.toml"]' \
    "$work/layer.tar" "$tag"

#!/usr/bin/env bash
# Builds the sandbox images from this repository and the host's Debian or Ubuntu packages; no image
# registry is asked. The same inputs give the same layers and ids.
# usage: build.sh [--digests FILE] [--fresh] [runner|shell|python|ocr|all]...
#   --digests FILE   where to write reference and id of each image (default target/images.toml)
#   --fresh          fetch packages again even if nothing has changed here
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(dirname "$here")
target=${CARGO_TARGET_DIR:-$repo/target}
digests=$target/images.toml
fresh=
wanted=()
all=(base shell python ocr)
# Newer times are set back to this one (2025-01-01), so that builds do not differ by their time.
export SOURCE_DATE_EPOCH=1735689600
created=2025-01-01T00:00:00Z

say() { printf 'images: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
digest() { sha256sum "$@" | cut -d' ' -f1; }

while [ $# -gt 0 ]; do
    case $1 in
        --digests) digests=${2:?--digests needs a file}; shift ;;
        --fresh) fresh=1 ;;
        all) wanted+=("${all[@]}") ;;
        runner) wanted+=(base) ;;
        shell | python | ocr) wanted+=("$1") ;;
        *) sed -n '2,6p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
    esac
    shift
done
[ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")
docker version > /dev/null 2>&1 || fail "no Docker engine answers; run deploy/engine.sh first"
work=$target/images
mkdir -p "$work" "$(dirname "$digests")"

case $(uname -m) in
    x86_64) triple=x86_64-unknown-linux-gnu arch=amd64 ;;
    aarch64) triple=aarch64-unknown-linux-gnu arch=arm64 ;;
    *) fail "no images for the machine type $(uname -m)" ;;
esac

# --- our programs ------------------------------------------------------------------------------

# A target of its own: static linking must not reach build scripts and macros.
flags=CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_RUSTFLAGS
(
    cd "$repo"
    export "$flags=-C target-feature=+crt-static -C relocation-model=static --remap-path-prefix=$repo=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
    cargo build --quiet --locked --package switchboard-runner --package switchboard-ocr --bins \
        --profile runner --target "$triple" --target-dir "$target"
) || fail "the programs of the images do not build"
programs=$target/$triple/runner
runner=$programs/runner

# --- layers ----------------------------------------------------------------------------------

pack() { # ROOT TAR
    tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --clamp-mtime \
        --owner=0 --group=0 --numeric-owner -C "$1" -cf "$2.new" .
    mv "$2.new" "$2"
}

runner_layer() { # IMAGE TAR
    local root
    root=$(mktemp -d "$work/root.XXXXXX")
    install -m 0555 "$runner" "$root/runner"
    [ -z "$PROGRAM" ] || install -D -m 0555 "$programs/$PROGRAM" "$root/usr/bin/$PROGRAM"
    if [ "$1" = base ]; then
        mkdir -p "$root/etc" "$root/tmp" "$root/proc" "$root/sys" "$root/dev"
        printf 'root:x:0:0:root:/:/nonexistent\ntool:x:10001:10001:tool:/tmp:/nonexistent\n' \
            > "$root/etc/passwd"
        printf 'root:x:0:\ntool:x:10001:\n' > "$root/etc/group"
        chmod 0644 "$root/etc/passwd" "$root/etc/group"
        chmod 1777 "$root/tmp"
    fi
    find "$root" -mindepth 1 -type d ! -name tmp -exec chmod 0755 {} +
    chmod 0755 "$root"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    pack "$root" "$2"
    rm -rf "$root"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo > /dev/null; then sudo --preserve-env=SOURCE_DATE_EPOCH "$@"
    else "$@"
    fi
}

need_bootstrap() {
    command -v mmdebstrap > /dev/null && return
    say "installing mmdebstrap with apt-get"
    as_root apt-get update -qq \
        && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends mmdebstrap > /dev/null && return
    command -v debootstrap > /dev/null && return
    fail "mmdebstrap is missing and cannot be installed; install it and start again"
}

# The host's own release and mirrors; packages of other makers are left out.
sources() {
    local id codename
    id=$(. /etc/os-release && echo "$ID")
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 2> /dev/null \
        | awk -v id="$id" 'tolower($1) == id { sub(/^[^ ]+ /, ""); print }' \
        | grep -E " $codename(-updates|-security)? " | LC_ALL=C sort -u
}

package_layer() { # IMAGE TAR
    local lines suite
    need_bootstrap
    lines=$(sources) || true
    if [ -z "$lines" ]; then
        say "apt knows no packages yet: apt-get update"
        as_root apt-get update -qq
        lines=$(sources) || true
    fi
    [ -n "$lines" ] || fail "apt lists no Debian or Ubuntu source of this release"
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    say "$1: unpacking $PACKAGES"
    if ! command -v mmdebstrap > /dev/null; then
        old_bootstrap "$1" "$suite" "$(echo "$lines" | awk -v s="$suite" '$3 == s { print $2; exit }')" "$2"
        return
    fi
    echo "$lines" | as_root mmdebstrap --quiet --variant=extract --architectures="$arch" \
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include="$PACKAGES" \
        --extract-hook="'$here/trim.sh' '$here/$1/image.sh' \"\$1\"" \
        --skip=output/dev,output/mknod,cleanup "$suite" "$2.new.tar" -
    as_root chown "$(id -u):$(id -g)" "$2.new.tar"
    mv "$2.new.tar" "$2"
}

# Where there is only debootstrap: needs root, is slower, and its images are larger.
old_bootstrap() { # IMAGE SUITE MIRROR TAR
    local root
    root=$(mktemp -d "$work/root.XXXXXX")
    as_root debootstrap --variant=minbase --include="$PACKAGES" "$2" "$root" "$3" > "$work/debootstrap.log" \
        || fail "debootstrap failed, see $work/debootstrap.log"
    as_root "$here/trim.sh" "$here/$1/image.sh" "$root"
    as_root find "$root/dev" -mindepth 1 -delete
    as_root tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --clamp-mtime \
        --numeric-owner -C "$root" -cf "$4.new" .
    as_root chown "$(id -u):$(id -g)" "$4.new"
    as_root rm -rf "$root"
    mv "$4.new" "$4"
}

# --- images ----------------------------------------------------------------------------------

# Writes an image archive by hand: the engine's own ways put the time of the build into the id.
assemble() { # IMAGE REFERENCE LAYER...
    local image=$1 reference=$2 folder ids="" layers="" sum config
    shift 2
    folder=$(mktemp -d "$work/archive.XXXXXX")
    for layer in "$@"; do
        sum=$(digest "$layer")
        ln "$layer" "$folder/$sum.tar" 2> /dev/null || cp "$layer" "$folder/$sum.tar"
        ids+="${ids:+,}\"sha256:$sum\""
        layers+="${layers:+,}\"$sum.tar\""
    done
    printf '{"architecture":"%s","os":"linux","created":"%s","config":{%s,%s,%s},"rootfs":{"type":"layers","diff_ids":[%s]}}' \
        "$arch" "$created" '"Entrypoint":["/runner"]' '"WorkingDir":"/"' \
        "\"Labels\":{\"switchboard.inputs\":\"$inputs\"}" "$ids" > "$folder/config.json"
    config=$(digest "$folder/config.json")
    mv "$folder/config.json" "$folder/$config.json"
    printf '[{"Config":"%s.json","RepoTags":["%s"],"Layers":[%s]}]' \
        "$config" "$reference" "$layers" > "$folder/manifest.json"
    tar -C "$folder" -cf - . | docker load --quiet > /dev/null
    rm -rf "$folder"
}

build() { # IMAGE
    local image=$1 reference old layers=() packages
    PROGRAM=""
    . "$here/$image/image.sh"
    reference=switchboard/$NAME:latest
    packages=$(cat "$here/build.sh" "$here/trim.sh" "$here/$image/image.sh" /etc/os-release | digest)
    inputs=$(cat "$runner" ${PROGRAM:+"$programs/$PROGRAM"} | digest)
    inputs=$(printf '%s %s %s' "$packages" "$inputs" "$arch" | digest)
    old=$(docker image inspect -f '{{.Id}} {{index .Config.Labels "switchboard.inputs"}}' \
        "$reference" 2> /dev/null || true)
    if [ "${old#* }" = "$inputs" ] && [ -z "$fresh" ]; then
        say "$image: up to date"
        return
    fi
    if [ -n "$PACKAGES" ]; then
        local tar=$work/$image-$packages.tar
        if [ ! -f "$tar" ] || [ -n "$fresh" ]; then
            rm -f "$work/$image-"*.tar
            package_layer "$image" "$tar"
        fi
        layers+=("$tar")
    fi
    runner_layer "$image" "$work/runner-$image.tar"
    layers+=("$work/runner-$image.tar")
    assemble "$image" "$reference" "${layers[@]}"
    say "$image: built $(docker image inspect -f '{{.Id}} {{.Size}} bytes' "$reference")"
}

record() {
    local image id
    echo "# written by sandbox-images/build.sh"
    for image in "${all[@]}"; do
        . "$here/$image/image.sh"
        id=$(docker image inspect -f '{{.Id}}' "switchboard/$NAME:latest" 2> /dev/null) || continue
        printf '\n[image.%s]\nreference = "switchboard/%s:latest"\nid = "%s"\n' "$NAME" "$NAME" "$id"
    done
}

for image in "${wanted[@]}"; do build "$image"; done
record > "$digests.new"
mv "$digests.new" "$digests"

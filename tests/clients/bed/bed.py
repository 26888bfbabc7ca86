"""What the clients' checks run against: two daemons, certificates, tokens and a scripted model.

    bed.py path/to/switchboard path/to/images.toml COMMAND...

Starts everything in a temporary folder, runs the command with the addresses in its environment, ends
what it started, and exits as the command did.

  SWITCHBOARD_BINARY     the daemon's program
  SWITCHBOARD_SOCKET     a Unix socket of the first daemon; its file `slow.sock` is the second's, which
                         lets each caller make one call a second
  SWITCHBOARD_TCP        the first daemon over TLS, host:port; a caller has a certificate or a token
  SWITCHBOARD_PEM        folder: ca.pem; client.pem and client.key; stranger.pem and stranger.key, of
                         another authority
  SWITCHBOARD_TOKEN      of the caller `agent`
  SWITCHBOARD_APPROVER   a token of somebody who may approve what callers on the socket ask for
  SWITCHBOARD_CURATOR    of the caller `eve`, who keeps what the organisation's memory holds
  SWITCHBOARD_REVIEWER   of the caller `rita`, who decides what waits in the memory
  SWITCHBOARD_PID        the first daemon's process, to be ended by whoever wants to see it drain
  SWITCHBOARD_INSTANCE   the label of its containers
  MODEL_URL              address of the scripted model
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import trustme

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
Found = TypeVar("Found")


def until(condition: Callable[[], Found | None], seconds: float = 30) -> Found:
    """Waits until the condition gives something true, and gives that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {condition}")


class Daemon:
    """A daemon with this configuration, ended with the block."""

    def __init__(self, binary: str, folder: pathlib.Path, name: str, config: str) -> None:
        self._log = folder / f"{name}.log"
        path = folder / f"{name}.toml"
        path.write_text(config)
        self._command = [binary, "serve", "--config", str(path)]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("w") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log)

    def restart(self) -> None:
        """Ends the daemon, and has a successor started in its place."""
        self.end()
        self.process = self._start()

    def wait(self) -> dict[str, str]:
        """The addresses that it serves at, once it is ready."""

        def bound() -> dict[str, str] | None:
            log = self._log.read_text()
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{log}")
            said = re.search(r"serving text=(\{.*\})", log)
            found: dict[str, str] | None = json.loads(said[1]) if said else None
            return found

        return until(bound)

    def tail(self) -> str:
        return "\n  ".join(self._log.read_text().splitlines()[-20:])

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Bed:
    """Everything, for the time of a block."""

    def __init__(self, binary: str, images: str) -> None:
        self.binary = str(pathlib.Path(binary).resolve())
        self.images = pathlib.Path(images).resolve()
        self._stack = ExitStack()

    def __enter__(self) -> Bed:
        made = tempfile.TemporaryDirectory(prefix="switchboard-clients-")
        self.folder = pathlib.Path(self._stack.enter_context(made))
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        self.instance = f"clients-{uuid.uuid4().hex[:8]}"
        shutil.copytree(ROOT / "policies", self.folder / "policies")
        for tool in ("copy.toml", "erase.toml"):
            shutil.copy(HERE / tool, self.folder / "policies" / "tools")
        shutil.copy(HERE / "secret.cedar", self.folder / "policies" / "cedar")
        self._certify()
        self.token = self._token("agent", "agent")
        self.approver = self._token("boss", "approver")
        self.curator = self._token("eve", "curator")
        self.reviewer = self._token("rita", "reviewer")
        self.model, self.reasoner = self._model("serve.py"), self._model("reasoner.py")
        tls = (
            'certificate = "server.pem"\nkey = "server.key"\nclient_ca = "ca.pem"\n'
            "client_optional = true"
        )
        self.daemon = self._daemon(
            "first",
            f'socket = "first.sock"\ntcp = "127.0.0.1:0"\n[server.tls]\n{tls}',
            '[admission.identity]\ntokens = "tokens.toml"',
        )
        self.slow = self._daemon(
            "slow", 'socket = "slow.sock"', "[admission]\ncalls_per_second_per_caller = 1"
        )
        self.tcp = self.daemon.wait()["tcp"].replace("127.0.0.1", "localhost")
        self.slow.wait()

    def _daemon(self, name: str, server: str, more: str) -> Daemon:
        config = (
            f'[server]\nmetrics = "127.0.0.1:0"\n{server}\n{more}\n[policies]\nfolder = "policies"\n'
            f'[sandbox]\ninstance = "{self.instance}-{name}"\nimages = "{self.images}"\n'
            f'[ledger]\npath = "{name}.db"\n'
            # The embedding model is not there for all.
            '[memory.embedder]\nkind = "none"\n'
            f'[models.endpoints.scripted]\nprovider = "openai"\nurl = "{self.reasoner}/v1"\n'
            'model = "scripted"\n[models.roles]\nreasoner = ["scripted"]\n'
        )
        return self._stack.enter_context(Daemon(self.binary, self.folder, name, config))

    def _model(self, program: str) -> str:
        """Starts a scripted model; its address."""
        model = subprocess.Popen(
            [sys.executable, HERE.parent / "model" / program], stdout=subprocess.PIPE, text=True
        )
        self._stack.callback(model.wait)
        self._stack.callback(model.kill)
        assert model.stdout is not None
        address = model.stdout.readline().strip()
        self._stack.callback(model.stdout.close)
        return address

    def _certify(self) -> None:
        authority, other = trustme.CA(), trustme.CA()
        authority.cert_pem.write_to_path(self.folder / "ca.pem")
        for name, signer, identity in (
            ("server", authority, "localhost"),
            ("client", authority, "planner.test"),
            ("stranger", other, "planner.test"),
        ):
            made = signer.issue_cert(identity)
            made.private_key_pem.write_to_path(self.folder / f"{name}.key")
            (self.folder / f"{name}.pem").write_bytes(
                b"".join(part.bytes() for part in made.cert_chain_pems)
            )

    def _token(self, name: str, role: str) -> str:
        made = subprocess.run(
            [self.binary, "token", name, "--role", role], capture_output=True, text=True, check=True
        )
        with (self.folder / "tokens.toml").open("a") as file:
            file.write(made.stdout)
        return made.stderr.splitlines()[-1]

    def environment(self) -> dict[str, str]:
        return {
            "SWITCHBOARD_BINARY": self.binary,
            "SWITCHBOARD_SOCKET": str(self.folder / "first.sock"),
            "SWITCHBOARD_TCP": self.tcp,
            "SWITCHBOARD_PEM": str(self.folder),
            "SWITCHBOARD_TOKEN": self.token,
            "SWITCHBOARD_APPROVER": self.approver,
            "SWITCHBOARD_CURATOR": self.curator,
            "SWITCHBOARD_REVIEWER": self.reviewer,
            "SWITCHBOARD_PID": str(self.daemon.process.pid),
            "SWITCHBOARD_INSTANCE": f"{self.instance}-first",
            "MODEL_URL": self.model,
        }


def main() -> int:
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    binary, images, *command = sys.argv[1:]
    with Bed(binary, images) as bed:
        status = subprocess.run(command, env=os.environ | bed.environment()).returncode
        if status != 0:
            print("the daemon's log ends with:", bed.daemon.tail(), sep="\n  ")
        return status


if __name__ == "__main__":
    raise SystemExit(main())

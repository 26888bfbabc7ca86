"""What a streamed call tells before its reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from switchboard.tools.v1 import tools_pb2 as pb

from .replies import Reply


@dataclass(frozen=True)
class Accepted:
    """Always first."""

    call_id: str


@dataclass(frozen=True)
class Waiting:
    """The call waits for a person."""

    approval_id: str


@dataclass(frozen=True)
class Started:
    """The tool was started."""


@dataclass(frozen=True)
class Output:
    """A piece of what the tool wrote. Pieces can split a character."""

    stream: Literal["stdout", "stderr"]
    data: bytes


Event: TypeAlias = Accepted | Waiting | Started | Output | Reply


def from_wire(wire: pb.CallEvent) -> Event | None:
    """None for a kind that this version does not know."""
    match wire.WhichOneof("event"):
        case "accepted":
            return Accepted(wire.accepted.call_id)
        case "waiting":
            return Waiting(wire.waiting.approval_id)
        case "started":
            return Started()
        case "output":
            errors = wire.output.stream == pb.CallEvent.Output.STREAM_STDERR
            return Output("stderr" if errors else "stdout", wire.output.data)
        case "reply":
            return Reply.from_wire(wire.reply)
        case _:
            return None

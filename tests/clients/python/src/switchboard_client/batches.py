"""Several calls in one request, of which some use the results of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from switchboard.tools.v1 import tools_pb2 as pb

from .core import Arguments, CallOptions, call_request
from .options import check_choice, check_options
from .replies import Reply

OnFailure: TypeAlias = Literal["continue", "stop"]


def ref(call: str, pointer: str = "") -> dict[str, str]:
    """Stands in arguments for a place in the result of another call of the batch."""
    return {"$ref": f"{call}#{pointer}"}


@dataclass(frozen=True)
class Entry:
    """One call of a batch."""

    tool: str
    arguments: Arguments
    options: CallOptions = field(default_factory=lambda: CallOptions())


@dataclass(frozen=True)
class Batch:
    """The replies of a batch, by the names of its calls."""

    replies: dict[str, Reply]
    batch_id: str
    refused: bool
    """Whether nothing ran, because something was wrong with some call."""

    @staticmethod
    def from_wire(wire: pb.CallBatchResponse) -> Batch:
        replies = {result.name: Reply.from_wire(result.reply) for result in wire.results}
        return Batch(replies, wire.batch_id, wire.refused)


def batch_request(calls: Mapping[str, Entry], on_failure: OnFailure) -> pb.CallBatchRequest:
    for name, entry in calls.items():
        check_options(f"call `{name}` of a batch", entry.options, CallOptions.__annotations__)
    chosen = check_choice("on_failure", on_failure, get_args(OnFailure))
    return pb.CallBatchRequest(
        calls=[
            pb.CallBatchRequest.Entry(
                name=name, call=call_request(entry.tool, entry.arguments, **entry.options)
            )
            for name, entry in calls.items()
        ],
        on_failure=pb.CallBatchRequest.OnFailure.Value(f"ON_FAILURE_{chosen.upper()}"),
    )

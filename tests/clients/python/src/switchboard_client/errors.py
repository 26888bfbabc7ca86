"""What a program has to handle: a gRPC status, with the daemon's own reason for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from switchboard.tools.v1 import tools_pb2 as pb

from .replies import Reply

DOMAIN = "switchboard"


@dataclass(frozen=True)
class Violation:
    """A field of a malformed request, and what is wrong with it."""

    field: str
    description: str


class CallFailed(Exception):
    """The daemon, or gRPC on this side, answered with a status in place of a reply."""

    def __init__(self, error: grpc.RpcError, request: Message) -> None:
        # Every error that the library raises is a grpc.Call, or has the same methods.
        call = cast(grpc.Call, error)
        self.code: grpc.StatusCode = call.code()
        self.message: str = call.details() or ""
        self.reason = ""
        """Stable, for example RATE_LIMITED. Empty when the status is not the daemon's own."""
        self.call_id: str = getattr(request, "call_id", "")
        """The call's, if it was one: `result(call_id)` gives its reply, once there is a record."""
        self.retry_after: float | None = None
        """Seconds, where waiting helps."""
        self.violations: tuple[Violation, ...] = ()
        self.reply: Reply | None = None
        """The reply behind the status, when it is short."""
        self._read(call)
        super().__init__(f"{self.reason or self.code.name}: {self.message}")

    @property
    def by_daemon(self) -> bool:
        """Whether the daemon itself gave the status, not gRPC because of a lost connection."""
        return bool(self.reason)

    def _read(self, call: grpc.Call) -> None:
        for packed in _details(call):
            info = error_details_pb2.ErrorInfo()
            retry = error_details_pb2.RetryInfo()
            bad = error_details_pb2.BadRequest()
            reply = pb.Reply()
            if packed.Unpack(info):
                if info.domain == DOMAIN:
                    self.reason = info.reason
                    self.call_id = info.metadata.get("call_id", self.call_id)
            elif packed.Unpack(retry):
                self.retry_after = retry.retry_delay.ToTimedelta().total_seconds()
            elif packed.Unpack(bad):
                self.violations = tuple(
                    Violation(one.field, one.description) for one in bad.field_violations
                )
            elif packed.Unpack(reply):
                self.reply = Reply.from_wire(reply)


def _details(call: grpc.Call) -> list[Any]:
    for key, value in call.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            status = status_pb2.Status()
            try:
                status.ParseFromString(value)
            except DecodeError:
                return []
            return list(status.details)
    return []

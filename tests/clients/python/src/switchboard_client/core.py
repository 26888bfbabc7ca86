"""What the clients for threads and for asyncio have in common: requests, and when to send again."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict, Unpack

import grpc
from switchboard.tools.v1 import tools_pb2 as pb

from .channel import Options, Tls, Token, check_token, metadata, options
from .errors import CallFailed
from .exact import render
from .options import check_options
from .tools import Dialect, dialect_to_wire

Arguments: TypeAlias = Mapping[str, object] | str
Again: TypeAlias = Literal["always", "refused", "never"]
"""After which failures a request is sent again. `refused`: after the daemon's own UNAVAILABLE and
RATE_LIMITED, which mean that nothing ran. `always`: also after a connection that broke, when the
tool may have run."""


@dataclass(frozen=True)
class Upload:
    """A file for a tool, of which more is said than its content."""

    content: bytes
    media_type: str = ""
    """Empty for what the content shows; what contradicts the content is refused."""
    sha256: str = ""
    """Hex, of the content; empty for none. A wrong one is refused."""


class CallOptions(TypedDict, total=False):
    """What a call can have beside tool and arguments; the proto file says more about each. Any other
    name is a TypeError."""

    conversation_id: str
    idempotency_key: str
    call_id: str
    files: Mapping[str, bytes | Upload]
    output_files: Sequence[str]
    approval_id: str
    wait_for_approval: bool
    dialect: Dialect
    """In whose terms tool and arguments are written; the tool's own when left out."""
    max_tokens: int
    """Tokens that the reply's data may take, estimated; 0 for no bound, less than 32 counts as 32.
    `Reply.left_out` says what had no place."""
    full: bool
    """The whole result, whatever the tool's summary fields say and however much of it is binary."""


class Core:
    """Settings of a client."""

    def __init__(
        self,
        endpoint: str,
        *,
        tls: Tls | None = None,
        token: Token = None,
        timeout: float | None = 60.0,
        attempts: int = 5,
        options: Options = (),
    ) -> None:
        check_token(endpoint, tls, token)
        self._endpoint = endpoint
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self._given = options

    def _options(self) -> list[tuple[str, str | int]]:
        return options(self._endpoint, self._given)

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return metadata(self._token)

    def _end(self, timeout: float | None) -> float | None:
        chosen = self._timeout if timeout is None else timeout
        return None if chosen is None else time.monotonic() + chosen

    def _pause(
        self, failed: CallFailed, attempt: int, end: float | None, again: Again
    ) -> float | None:
        """Seconds until the request is sent again; None when it must not be, or has no time left."""
        refused = failed.by_daemon and failed.code in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.RESOURCE_EXHAUSTED,
        )
        lost = not failed.by_daemon and failed.code is grpc.StatusCode.UNAVAILABLE
        allowed = (refused and again != "never") or (lost and again == "always")
        if attempt >= self._attempts or not allowed:
            return None
        backoff = min(2.0, 0.1 * 2**attempt) * random.uniform(0.5, 1.0)
        pause = max(failed.retry_after or 0.0, backoff)
        return pause if end is None or time.monotonic() + pause < end else None


def left(end: float | None) -> float | None:
    """Seconds until the deadline, as gRPC takes them."""
    return None if end is None else max(0.0, end - time.monotonic())


def call_request(
    tool: str, arguments: Arguments, **more: Unpack[CallOptions]
) -> pb.CallRequest:
    """Arguments that are text already are sent as they stand.

    The id is made here, so that the call can be cancelled and looked up whatever happens to it.
    """
    check_options("a call", more, CallOptions.__annotations__, ["timeout"])
    return pb.CallRequest(
        tool_name=tool,
        arguments_json=arguments if isinstance(arguments, str) else render(arguments),
        conversation_id=more.get("conversation_id", ""),
        idempotency_key=more.get("idempotency_key", ""),
        call_id=more.get("call_id") or str(uuid.uuid4()),
        files=[_file(name, given) for name, given in more.get("files", {}).items()],
        output_files=more.get("output_files", ()),
        approval_id=more.get("approval_id", ""),
        wait_for_approval=more.get("wait_for_approval", False),
        dialect=dialect_to_wire(more.get("dialect")),
        max_tokens=more.get("max_tokens", 0),
        full=more.get("full", False),
    )


def _file(name: str, given: bytes | Upload) -> pb.File:
    if isinstance(given, Upload):
        return pb.File(
            name=name,
            content=given.content,
            media_type=given.media_type,
            sha256=given.sha256,
        )
    return pb.File(name=name, content=given)


def again(more: CallOptions) -> Again:
    """An id can be used once. An equal call with the same key is answered with the first reply."""
    if more.get("call_id"):
        return "never"
    return "always" if more.get("idempotency_key") else "refused"

"""What comes back from a call: one shape, whatever the tool was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from switchboard.tools.v1 import tools_pb2 as pb

from .exact import Json, parse


@dataclass(frozen=True)
class File:
    """A file that a tool gave."""

    name: str
    media_type: str
    sha256: str
    size: int
    content: bytes | None
    """None in a reply that was read again: contents are kept nowhere."""


@dataclass(frozen=True)
class ToolError:
    """Why there is no result, for the model to read."""

    code: str
    """Stable; the proto file lists all codes and says what to do about each."""
    message: str
    details: Json
    retryable: bool
    """Whether the same call, unchanged, may succeed later."""


@dataclass(frozen=True)
class Repair:
    """One change of the arguments, made only where nothing is lost."""

    kind: str
    pointer: str
    before: str
    """JSON text; empty when there was nothing."""
    after: str


@dataclass(frozen=True)
class Metadata:
    """Figures of a call."""

    call_id: str
    latency_ms: float
    cache_hit: bool
    repairs: tuple[Repair, ...]
    pool: str
    """hit, waited or cold; empty when nothing ran."""
    output_truncated: bool
    retry_after: float | None
    """Seconds to wait before the call is sent again."""
    taint: tuple[str, ...]
    """What the reply brings into its conversation: outside, flagged, unsearched."""
    more: dict[str, Json] = field(repr=False)
    """All members, as the reply's JSON has them."""


@dataclass(frozen=True)
class Reply:
    """The reply to a call. An error of the tool, the arguments or the policy is a reply, too."""

    tool: str
    status: Literal["success", "error"]
    data: Json
    """The result; integers are int, all other numbers Decimal. An error can carry data."""
    error: ToolError | None
    metadata: Metadata
    files: tuple[File, ...]
    json: str = field(repr=False)
    """The whole reply as it came: one line of JSON."""

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def call_id(self) -> str:
        return self.metadata.call_id

    @property
    def approval_id(self) -> str | None:
        """The approval that the call needs first, when that is what the error says."""
        if self.error is None or self.error.code != "APPROVAL_REQUIRED":
            return None
        details = self.error.details
        found = details.get("approval_id") if isinstance(details, dict) else None
        return found if isinstance(found, str) else None

    @staticmethod
    def from_wire(wire: pb.Reply) -> Reply:
        return Reply.from_json(wire.json, {file.name: file.content for file in wire.files})

    @staticmethod
    def from_json(text: str, contents: dict[str, bytes] | None = None) -> Reply:
        """Reads a reply's one line of JSON, as GetResult and the ledger give it."""
        # The shape is the daemon's promise; what does not have it is a KeyError or a TypeError.
        whole = cast(Any, parse(text))
        error, metadata = whole["error"], whole["metadata"]
        return Reply(
            tool=whole["tool_name"],
            status=whole["status"],
            data=whole["data"],
            error=tool_error(error) if error else None,
            metadata=_metadata(metadata),
            files=tuple(_file(file, contents or {}) for file in metadata.get("files") or ()),
            json=text,
        )


def tool_error(error: Any) -> ToolError:
    """From the `error` of a reply's JSON."""
    return ToolError(error["code"], error["message"], error["details"], error["retryable"])


def repair(wire: pb.Repair) -> Repair:
    return Repair(wire.kind, wire.pointer, getattr(wire, "from"), wire.to)


def _metadata(members: Any) -> Metadata:
    wait = members.get("retry_after_ms")
    return Metadata(
        call_id=members["call_id"],
        latency_ms=float(members["latency_ms"]),
        cache_hit=members["cache_hit"],
        repairs=tuple(
            Repair(one["kind"], one["pointer"], one.get("from") or "", one.get("to") or "")
            for one in members.get("repairs") or ()
        ),
        pool=members.get("pool") or "",
        output_truncated=bool(members.get("output_truncated")),
        retry_after=float(wait) / 1000 if wait else None,
        taint=tuple(members.get("taint") or ()),
        more=members,
    )


def _file(listed: Any, contents: dict[str, bytes]) -> File:
    name = listed["name"]
    return File(
        name, listed["media_type"], listed["sha256"], listed["bytes"], contents.get(name)
    )

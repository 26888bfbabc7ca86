"""What comes back from a call: one shape, whatever the tool was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from switchboard.tools.v1 import tools_pb2 as pb

from . import views
from .exact import Json, parse
from .views import Handle, Rest, View


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
class Origin:
    """Where a result comes from: it is information, never instructions."""

    tool: str
    source: str
    """The manifest or OpenAPI source that defines the tool."""
    hosts: tuple[str, ...]
    """`host:port` of each place that the run was connected to, the first 32."""

    @staticmethod
    def from_wire(wire: pb.Origin) -> Origin:
        return Origin(wire.tool, wire.source, tuple(wire.hosts))


@dataclass(frozen=True)
class Flag:
    """A place in a result that reads like an instruction to a model."""

    pointer: str
    """JSON Pointer into the full reply, for `result_page`."""
    rule: str
    reading: str
    excerpt: str


@dataclass(frozen=True)
class Metadata:
    """Figures of a call."""

    call_id: str
    latency_ms: float
    cache_hit: bool
    cache_age_ms: float | None
    """Milliseconds since the cached result was made; None without a hit."""
    repairs: tuple[Repair, ...]
    pool: str
    """hit, waited or cold; empty when nothing ran."""
    queue_ms: float | None
    """Milliseconds of waiting for a container; None, as the next two, when nothing ran."""
    sandbox_ms: float | None
    """Milliseconds of sandbox work around the tool."""
    tool_ms: float | None
    """Milliseconds of the tool itself."""
    output_truncated: bool
    retry_after: float | None
    """Seconds to wait before the call is sent again."""
    taint: tuple[str, ...]
    """What the reply brings into its conversation: outside, flagged, unsearched."""
    origin: Origin | None
    """Where data and files come from; None when no tool ran."""
    flags: tuple[Flag, ...]
    """What in them reads like an instruction, the first 16 places. None found proves nothing."""
    view: View | None
    """How much of the result data holds; None when that is all."""
    more: dict[str, Json] = field(repr=False)
    """All members, as the reply's JSON has them."""


@dataclass(frozen=True)
class Reply:
    """The reply to a call. An error of the tool, the arguments or the policy is a reply, too."""

    tool: str
    status: Literal["success", "error"]
    data: Json
    """The result, or what `metadata.view` says of it; integers are int, all other numbers Decimal.
    An error can carry data."""
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

    @property
    def left_out(self) -> tuple[Rest, ...]:
        """What data leaves out to keep within `max_tokens`, in its order. What a tool gave can look
        like a marker, and is then here too: `metadata.view.left_out` counts the true ones."""
        view = self.metadata.view
        return tuple(views.rests(self.data)) if view and view.left_out else ()

    @property
    def handles(self) -> tuple[Handle, ...]:
        """What stands in data for binary content, in its order; as with `left_out`, what only looks
        like it is here too, and `metadata.view.handles` counts the true ones."""
        view = self.metadata.view
        return tuple(views.handles(self.data)) if view and view.handles else ()

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
    wait, view = members.get("retry_after_ms"), members.get("view")
    return Metadata(
        call_id=members["call_id"],
        latency_ms=float(members["latency_ms"]),
        cache_hit=members["cache_hit"],
        cache_age_ms=_ms(members.get("cache_age_ms")),
        repairs=tuple(
            Repair(one["kind"], one["pointer"], one.get("from") or "", one.get("to") or "")
            for one in members.get("repairs") or ()
        ),
        pool=members.get("pool") or "",
        queue_ms=_ms(members.get("queue_ms")),
        sandbox_ms=_ms(members.get("sandbox_ms")),
        tool_ms=_ms(members.get("tool_ms")),
        output_truncated=bool(members.get("output_truncated")),
        retry_after=float(wait) / 1000 if wait else None,
        taint=tuple(members.get("taint") or ()),
        origin=_origin(members.get("origin")),
        flags=tuple(
            Flag(one["pointer"], one["rule"], one["reading"], one["excerpt"])
            for one in members.get("flags") or ()
        ),
        view=View.from_json(view) if view else None,
        more=members,
    )


def _ms(number: Any) -> float | None:
    return None if number is None else float(number)


def _origin(members: Any) -> Origin | None:
    if not members:
        return None
    return Origin(members["tool"], members["source"], tuple(members.get("hosts") or ()))


def _file(listed: Any, contents: dict[str, bytes]) -> File:
    name = listed["name"]
    return File(
        name, listed["media_type"], listed["sha256"], listed["bytes"], contents.get(name)
    )

"""Parts of a recorded reply, read again by call id."""

from __future__ import annotations

from dataclasses import dataclass, field

from switchboard.tools.v1 import tools_pb2 as pb

from .exact import Json, parse
from .replies import Origin
from .views import Rest, rests


@dataclass(frozen=True)
class Page:
    """A page of one value of the reply; it has the type of the value, and ends between two items."""

    value: Json
    json: str = field(repr=False)
    """The page as it came."""
    total: int
    """Items, members or characters of the whole value; 0 for null, true, false and numbers."""
    next_first: int | None
    """`first` of the next page; None on the last one."""
    tokens: int
    """Of the page, estimated."""
    total_bytes: int
    """Of the whole value as JSON text."""
    origin: Origin | None
    """Where the value comes from: it is information, never instructions. None when no tool ran."""

    @property
    def left_out(self) -> tuple[Rest, ...]:
        """What is left out of the page's only item when that alone has no place. As in a reply, what a
        tool gave can look like it."""
        alone = isinstance(self.value, (list, dict)) and len(self.value) == 1
        return tuple(rests(self.value)) if alone else ()

    @staticmethod
    def from_wire(wire: pb.GetResultResponse) -> Page:
        return Page(
            value=parse(wire.json),
            json=wire.json,
            total=wire.total,
            next_first=wire.next_first or None,
            tokens=wire.tokens,
            total_bytes=wire.total_bytes,
            origin=Origin.from_wire(wire.origin) if wire.HasField("origin") else None,
        )


@dataclass(frozen=True)
class Content:
    """The bytes that a text of the reply stands for, in base64 or as a data: URL."""

    content: bytes
    media_type: str
    total: int
    """Bytes that there are; more than those of `content` when only some were asked for."""
    origin: Origin | None


@dataclass(frozen=True)
class LinePage:
    """A page of the reply's one line of JSON, as text; never splits a character."""

    json: str
    total_bytes: int
    """Of the whole line."""
    next_offset: int | None
    """Offset of the next page; None on the last one."""

    @staticmethod
    def from_wire(wire: pb.GetResultResponse) -> LinePage:
        return LinePage(wire.json, wire.total_bytes, wire.next_offset or None)


class Bytes:
    """Decoded bytes of a value, collected page by page."""

    def __init__(self, call_id: str, pointer: str, first: int, count: int, limit: int) -> None:
        self.request = page_request(call_id, pointer, first, count, 0, limit)
        self.request.decode = True
        self._count = count
        self._found = bytearray()

    def add(self, page: pb.GetResultResponse) -> Content | None:
        """All of them when this page was the last one; else `request` is for the next one."""
        self._found += page.content
        left = self._count - len(self._found)
        if page.next_first and (left > 0 or not self._count):
            self.request.first = page.next_first
            self.request.count = left if self._count else 0
            return None
        origin = Origin.from_wire(page.origin) if page.HasField("origin") else None
        return Content(bytes(self._found), page.media_type, page.total, origin)


def page_request(
    call_id: str, pointer: str, first: int, count: int, max_tokens: int, limit: int
) -> pb.GetResultRequest:
    return pb.GetResultRequest(
        call_id=call_id,
        pointer=pointer,
        first=first,
        count=count,
        max_tokens=max_tokens,
        limit=limit,
    )

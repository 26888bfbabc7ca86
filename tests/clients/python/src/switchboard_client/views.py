"""What a reply shows of a result that is kept whole, and where the rest of it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .exact import Json

Unit: TypeAlias = Literal["items", "members", "characters"]
MORE = re.compile(r"\$more'*")
CUT = "…["
TEXT = re.compile(r"…\[(\d+) more characters: (/.*) from (\d+)\]", re.DOTALL)


@dataclass(frozen=True)
class View:
    """How much of a result data holds."""

    summary: bool
    """Whether data has only what the tool's `summary_fields` name."""
    left_out: int
    """How many markers stand in data for what was left out to keep within `max_tokens`."""
    handles: int
    """How many handles stand in data for binary content."""
    tokens: int
    """Of data, estimated."""
    full_tokens: int
    """Of the whole result, estimated."""
    full_bytes: int
    """Of the whole result as JSON text."""
    unmatched: tuple[str, ...]
    """Expressions of `summary_fields` that match nothing in this result."""

    @staticmethod
    def from_json(members: Any) -> View:
        return View(
            summary=members["summary"],
            left_out=members["left_out"],
            handles=members["handles"],
            tokens=members["tokens"],
            full_tokens=members["full_tokens"],
            full_bytes=members["full_bytes"],
            unmatched=tuple(members.get("unmatched") or ()),
        )


@dataclass(frozen=True)
class Rest:
    """What data leaves out at one place. `result_pages(call_id, rest.pointer, first=rest.first)`
    reads it."""

    pointer: str
    """JSON Pointer of the array, object or text in the full result."""
    first: int
    """Place of the first item, member or character that is left out."""
    count: int | None
    """How many are left out; None where the marker does not say."""
    unit: Unit | None
    """What is counted; None for a value that is left out whole."""


@dataclass(frozen=True)
class Handle:
    """Stands in data for binary content. `result_content(call_id, handle.pointer)` reads that."""

    pointer: str
    media_type: str
    size: int
    sha256: str
    """Hex, of the content."""


def rests(data: Json) -> Iterator[Rest]:
    """What the markers in data say, in their order."""
    for name, value in _inside(data):
        if isinstance(value, str):
            if found := TEXT.fullmatch(value, max(value.rfind(CUT), 0)):
                yield Rest(found[2], int(found[3]), int(found[1]), "characters")
        elif isinstance(value, dict) and MORE.fullmatch(name):
            if (rest := _rest(value)) is not None:
                yield rest


def handles(data: Json) -> Iterator[Handle]:
    """The handles in data, in their order."""
    for name, value in _inside(data):
        if name == "$binary" and isinstance(value, dict):
            told = (value.get(key) for key in ("pointer", "media_type", "bytes", "sha256"))
            match tuple(told):
                case (str(pointer), str(media_type), int(size), str(sha256)):
                    yield Handle(pointer, media_type, size, sha256)


def _rest(told: dict[str, Json]) -> Rest | None:
    pointer, first = told.get("pointer"), told.get("first", 0)
    if not isinstance(pointer, str) or not isinstance(first, int):
        return None
    for unit in ("items", "members"):
        if isinstance(count := told.get(unit), int):
            return Rest(pointer, first, count, unit)
    return Rest(pointer, first, None, None)


def _inside(data: Json) -> Iterator[tuple[str, Json]]:
    """Every value in data with the name that it has there, in their order."""
    waiting: list[tuple[str, Json]] = [("", data)]
    while waiting:
        name, value = waiting.pop()
        yield name, value
        if isinstance(value, dict):
            waiting += reversed(value.items())
        elif isinstance(value, list):
            waiting += (("", item) for item in reversed(value))

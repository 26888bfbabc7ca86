"""JSON whose numbers keep their value: integers of any size, and `Decimal` for all others."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TypeAlias, Union

import simplejson

Json: TypeAlias = Union[None, bool, int, Decimal, str, "list[Json]", "dict[str, Json]"]


def parse(text: str) -> Json:
    """Reads JSON text. NaN and Infinity, which are no JSON, are a ValueError."""
    value: Json = simplejson.loads(
        text, parse_float=Decimal, parse_int=_integer, parse_constant=_constant
    )
    return value


def maybe(text: str) -> Json:
    """As `parse`; None for no text at all."""
    return parse(text) if text else None


def render(value: object) -> str:
    """Writes JSON text. Takes `Decimal` and what the standard library's `json` takes."""
    text = _render(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, as models send it: only an escape can say that.
        return _render(value, ensure_ascii=True)
    return text


def _render(value: object, ensure_ascii: bool) -> str:
    return simplejson.dumps(
        value, use_decimal=True, allow_nan=False, ensure_ascii=ensure_ascii, separators=(",", ":")
    )


def _integer(digits: str) -> int | Decimal:
    # CPython refuses to read very long integers, since that takes quadratic time.
    most = sys.get_int_max_str_digits()
    return Decimal(digits) if most and len(digits) > most else int(digits)


def _constant(name: str) -> Json:
    raise ValueError(f"`{name}` is no JSON")

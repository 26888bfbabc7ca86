"""Options by name and by word: what is wrong is an error that names the nearest, and never lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def check_options(
    what: str, given: Iterable[str], known: Iterable[str], beside: Iterable[str] = ()
) -> None:
    """Raises a TypeError for a name that is not known. Names `beside` are proposed, too."""
    known = tuple(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{what} has no option `{name}`; {nearest(name, [*known, *beside])}")


def check_choice(option: str, chosen: object, known: Sequence[str]) -> str:
    """Raises a ValueError for a word that is none of those known; else gives it."""
    if isinstance(chosen, str) and chosen in known:
        return chosen
    raise ValueError(f"`{option}` cannot be `{chosen}`; {nearest(str(chosen), known)}")


def nearest(name: str, known: Sequence[str]) -> str:
    (found,) = get_close_matches(name, known, n=1, cutoff=0.0)
    return f"the nearest is `{found}`"

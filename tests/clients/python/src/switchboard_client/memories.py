"""The memory, for programs with threads: `client.memory`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

import grpc
from switchboard.memory.v1 import memory_pb2 as pb
from switchboard.memory.v1 import memory_pb2_grpc

from .core import Again
from .errors import CallFailed
from .evidence import (
    Assembled,
    Consolidated,
    Decided,
    Explained,
    Recalled,
    Receipt,
    Review,
    Stats,
    Unit,
    UnitHistory,
    Written,
)
from .memory import (
    Area,
    Asking,
    Draft,
    Filter,
    Kind,
    Picture,
    When,
    Within,
    filters_to_wire,
    kind_to_wire,
    pictures_to_wire,
    question,
    remember_request,
    spot_to_wire,
    time_to_wire,
)
from .options import check_options

if TYPE_CHECKING:
    from .client import Client

Ready: TypeAlias = Draft | tuple[Draft, Sequence[Picture]]
"""A draft, or one with its pictures."""
PAGE = 500


class Listing(TypedDict, total=False):
    """Which units are listed; all that hold now without any."""

    collections: Sequence[str]
    kinds: Sequence[Kind]
    filters: Sequence[Filter]
    spot: Within | Area
    as_of: When
    known_at: When
    time_zone: str
    held: bool
    archived: bool


class Memory:
    """Writes, finds, explains and keeps units; safe to share between threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stub = memory_pb2_grpc.MemoryServiceStub(client.channel)

    def remember(
        self,
        draft: Draft,
        pictures: Sequence[Picture] = (),
        *,
        wait: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """Writes one unit. The receipt comes once it is durable; with `wait` once it is found."""
        request = remember_request(draft, pictures, wait)
        return Receipt.from_wire(
            self._client._ask(self._stub.Remember, request, timeout, safe_again(draft))
        )

    def remember_many(
        self, drafts: Iterable[Ready], *, timeout: float | None = None
    ) -> Iterator[Written]:
        """Writes units as they come, and gives what became of each, in their order. One that is refused
        does not end it. `timeout` is for all of it, None for no end. Never sent again by itself: the
        same drafts can be, what is there already costs next to nothing."""
        wire = self._stub.RememberMany(
            map(one_of_many, drafts), timeout=timeout, metadata=self._client._metadata()
        )
        try:
            for answer in wire:
                yield from map(Written.from_wire, answer.written)
        except grpc.RpcError as error:
            raise CallFailed(error, pb.RememberManyRequest()) from error
        finally:
            wire.cancel()

    def receipt(
        self, receipt_id: str, *, wait: float = 0, timeout: float | None = None
    ) -> Receipt:
        """What became of a write; waits so many seconds, at most 60, for its last stage."""
        request = pb.GetReceiptRequest(receipt_id=receipt_id, wait_ms=round(wait * 1000))
        return Receipt.from_wire(self._client._ask(self._stub.GetReceipt, request, timeout))

    def recall(
        self,
        text: str,
        *,
        after: Sequence[str] = (),
        timeout: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recalled:
        """Finds evidence, best first. Waits for the writes whose receipts are named by `after`."""
        request = pb.RecallRequest(question=question(text, asking), after_receipts=after)
        return Recalled(self._client._ask(self._stub.Recall, request, timeout))

    def context(
        self,
        text: str,
        *,
        budget: int = 0,
        instructions: str = "",
        tools: Sequence[str] = (),
        turns: Sequence[str] = (),
        results: Sequence[str] = (),
        after: Sequence[str] = (),
        timeout: float | None = None,
        **asking: Unpack[Asking],
    ) -> Assembled:
        """A model's context within `budget` tokens: what it is told, its work, and what is recalled."""
        request = pb.ContextRequest(
            question=question(text, asking),
            budget_tokens=budget,
            instructions=instructions,
            tools=tools,
            turns=turns,
            results=results,
            after_receipts=after,
        )
        return Assembled.from_wire(self._client._ask(self._stub.Context, request, timeout))

    def get(self, id: str, *, timeout: float | None = None) -> Unit:
        """A unit by its id, or exactly one version by its evidence id."""
        request = pb.GetRequest(id=id)
        return Unit.from_wire(self._client._ask(self._stub.Get, request, timeout).unit)

    def history(self, id: str, *, timeout: float | None = None) -> UnitHistory:
        """All versions of a unit, newest first."""
        request = pb.GetRequest(id=id, history=True)
        return UnitHistory(self._client._ask(self._stub.Get, request, timeout))

    def list(
        self, *, timeout: float | None = None, **listing: Unpack[Listing]
    ) -> Iterator[Unit]:
        """Units, those recorded last first; `timeout` is for each page of them."""
        request = list_request(listing)
        while True:
            page = self._client._ask(self._stub.List, request, timeout)
            yield from map(Unit.from_wire, page.units)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def forget(self, unit_id: str, *, erase: bool = False, timeout: float | None = None) -> int:
        """Hides a unit, or erases it with its history for ever; gives the number of versions."""
        request = pb.ForgetRequest(unit_id=unit_id, erase=erase)
        return self._client._ask(self._stub.Forget, request, timeout, "refused").versions

    def forget_source(
        self,
        collection: str,
        source: str,
        source_id: str,
        *,
        erase: bool = False,
        timeout: float | None = None,
    ) -> int:
        """As `forget`, by the id at the source."""
        request = forget_by_source(collection, source, source_id, erase)
        return self._client._ask(self._stub.Forget, request, timeout, "refused").versions

    def reviews(self, *collections: str, timeout: float | None = None) -> Iterator[Review]:
        """What waits for a reviewer; of all collections when none is named."""
        request = pb.ListReviewsRequest(collections=collections, page_size=PAGE)
        while True:
            page = self._client._ask(self._stub.ListReviews, request, timeout)
            yield from map(Review.from_wire, page.reviews)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def approve(
        self,
        evidence_id: str,
        reason: str,
        *,
        keep_both: bool = False,
        timeout: float | None = None,
    ) -> Decided:
        """Agrees that a version is used. What it contradicts ends where it begins to hold, unless both
        are kept."""
        return self._decide(decision_request(evidence_id, True, reason, keep_both), timeout)

    def reject(self, evidence_id: str, reason: str, *, timeout: float | None = None) -> Decided:
        return self._decide(decision_request(evidence_id, False, reason, False), timeout)

    def explain(
        self,
        text: str,
        *,
        unit_id: str = "",
        timeout: float | None = None,
        **asking: Unpack[Asking],
    ) -> Explained:
        """How an answer comes about, and why a unit is or is not in it."""
        request = pb.ExplainRequest(question=question(text, asking), unit_id=unit_id)
        return Explained.from_wire(self._client._ask(self._stub.Explain, request, timeout))

    def consolidate(
        self, *collections: str, apply: bool = False, timeout: float | None = None
    ) -> Consolidated:
        """Tells what upkeep would do; with `apply` does it."""
        request = upkeep_request(collections, apply)
        again: Again = "refused" if apply else "always"
        return self._upkeep(request, timeout, again)

    def undo(self, run_id: str, *, timeout: float | None = None) -> int:
        """Puts back what a run of upkeep changed; gives the number of versions."""
        return self._upkeep(pb.ConsolidateRequest(undo=run_id), timeout, "refused").undone

    def runs(self, limit: int = 0, *, timeout: float | None = None) -> Consolidated:
        """The runs of upkeep that there were, newest first."""
        request = pb.ConsolidateRequest(runs=pb.ConsolidateRequest.Runs(limit=limit))
        return self._upkeep(request, timeout, "always")

    def stats(self, *, timeout: float | None = None) -> Stats:
        request = pb.StatsRequest()
        return Stats.from_wire(self._client._ask(self._stub.Stats, request, timeout))

    def _decide(self, request: pb.DecideReviewRequest, timeout: float | None) -> Decided:
        return Decided.from_wire(
            self._client._ask(self._stub.DecideReview, request, timeout, "refused")
        )

    def _upkeep(
        self, request: pb.ConsolidateRequest, timeout: float | None, again: Again
    ) -> Consolidated:
        return Consolidated.from_wire(
            self._client._ask(self._stub.Consolidate, request, timeout, again)
        )


def safe_again(draft: Draft) -> Again:
    """Without a time at its source, a draft that is sent again could overtake a newer one."""
    return "always" if draft.source_time else "refused"


def one_of_many(ready: Ready) -> pb.RememberManyRequest:
    draft, pictures = ready if isinstance(ready, tuple) else (ready, ())
    return pb.RememberManyRequest(draft=draft.to_wire(), images=pictures_to_wire(pictures))


def list_request(listing: Listing) -> pb.ListRequest:
    check_options("a list", listing, Listing.__annotations__, ["timeout"])
    return pb.ListRequest(
        collections=listing.get("collections", ()),
        kinds=[kind_to_wire(kind) for kind in listing.get("kinds", ())],
        filters=filters_to_wire(listing.get("filters", ())),
        spot=spot_to_wire(listing.get("spot")),
        as_of=time_to_wire(listing.get("as_of", "")),
        known_at=time_to_wire(listing.get("known_at", "")),
        time_zone=listing.get("time_zone", ""),
        held=listing.get("held", False),
        archived=listing.get("archived", False),
        page_size=PAGE,
    )


def forget_by_source(
    collection: str, source: str, source_id: str, erase: bool
) -> pb.ForgetRequest:
    named = pb.ForgetRequest.SourceId(collection=collection, source=source, source_id=source_id)
    return pb.ForgetRequest(source=named, erase=erase)


def decision_request(
    evidence_id: str, approve: bool, reason: str, keep_both: bool
) -> pb.DecideReviewRequest:
    kinds = pb.DecideReviewRequest
    return pb.DecideReviewRequest(
        evidence_id=evidence_id,
        decision=kinds.DECISION_APPROVE if approve else kinds.DECISION_REJECT,
        reason=reason,
        manner=kinds.MANNER_KEEP_BOTH if keep_both else kinds.MANNER_UNSPECIFIED,
    )


def upkeep_request(collections: Sequence[str], apply: bool) -> pb.ConsolidateRequest:
    if apply:
        return pb.ConsolidateRequest(
            apply=pb.ConsolidateRequest.Apply(), collections=collections
        )
    return pb.ConsolidateRequest(
        dry_run=pb.ConsolidateRequest.DryRun(), collections=collections
    )

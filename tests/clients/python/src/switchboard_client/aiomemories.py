"""The memory, for asyncio: the methods of `Memory` as coroutines and asynchronous iterators."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

import grpc
import grpc.aio
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
from .memories import (
    PAGE,
    Listing,
    Ready,
    decision_request,
    forget_by_source,
    list_request,
    one_of_many,
    safe_again,
    upkeep_request,
)
from .memory import Asking, Draft, Picture, question, remember_request

if TYPE_CHECKING:
    from .aio import AsyncClient


class AsyncMemory:
    """As `Memory`, whose methods say what they do."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._stub = memory_pb2_grpc.MemoryServiceStub(client.channel)

    async def remember(
        self,
        draft: Draft,
        pictures: Sequence[Picture] = (),
        *,
        wait: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        request = remember_request(draft, pictures, wait)
        return Receipt.from_wire(
            await self._client._ask(self._stub.Remember, request, timeout, safe_again(draft))
        )

    async def remember_many(
        self, drafts: Iterable[Ready] | AsyncIterable[Ready], *, timeout: float | None = None
    ) -> AsyncIterator[Written]:
        wire = self._stub.RememberMany(
            _each(drafts), timeout=timeout, metadata=self._client._metadata()
        )
        try:
            async for answer in wire:
                for one in answer.written:
                    yield Written.from_wire(one)
        except grpc.RpcError as error:
            raise CallFailed(error, pb.RememberManyRequest()) from error
        finally:
            wire.cancel()

    async def receipt(
        self, receipt_id: str, *, wait: float = 0, timeout: float | None = None
    ) -> Receipt:
        request = pb.GetReceiptRequest(receipt_id=receipt_id, wait_ms=round(wait * 1000))
        return Receipt.from_wire(await self._client._ask(self._stub.GetReceipt, request, timeout))

    async def recall(
        self,
        text: str,
        *,
        after: Sequence[str] = (),
        timeout: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recalled:
        request = pb.RecallRequest(question=question(text, asking), after_receipts=after)
        return Recalled(await self._client._ask(self._stub.Recall, request, timeout))

    async def context(
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
        request = pb.ContextRequest(
            question=question(text, asking),
            budget_tokens=budget,
            instructions=instructions,
            tools=tools,
            turns=turns,
            results=results,
            after_receipts=after,
        )
        return Assembled.from_wire(await self._client._ask(self._stub.Context, request, timeout))

    async def get(self, id: str, *, timeout: float | None = None) -> Unit:
        request = pb.GetRequest(id=id)
        return Unit.from_wire((await self._client._ask(self._stub.Get, request, timeout)).unit)

    async def history(self, id: str, *, timeout: float | None = None) -> UnitHistory:
        request = pb.GetRequest(id=id, history=True)
        return UnitHistory(await self._client._ask(self._stub.Get, request, timeout))

    async def list(
        self, *, timeout: float | None = None, **listing: Unpack[Listing]
    ) -> AsyncIterator[Unit]:
        request = list_request(listing)
        while True:
            page = await self._client._ask(self._stub.List, request, timeout)
            for one in page.units:
                yield Unit.from_wire(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def forget(self, unit_id: str, *, erase: bool = False, timeout: float | None = None) -> int:
        request = pb.ForgetRequest(unit_id=unit_id, erase=erase)
        return (await self._client._ask(self._stub.Forget, request, timeout, "refused")).versions

    async def forget_source(
        self,
        collection: str,
        source: str,
        source_id: str,
        *,
        erase: bool = False,
        timeout: float | None = None,
    ) -> int:
        request = forget_by_source(collection, source, source_id, erase)
        return (await self._client._ask(self._stub.Forget, request, timeout, "refused")).versions

    async def reviews(self, *collections: str, timeout: float | None = None) -> AsyncIterator[Review]:
        request = pb.ListReviewsRequest(collections=collections, page_size=PAGE)
        while True:
            page = await self._client._ask(self._stub.ListReviews, request, timeout)
            for one in page.reviews:
                yield Review.from_wire(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def approve(
        self,
        evidence_id: str,
        reason: str,
        *,
        keep_both: bool = False,
        timeout: float | None = None,
    ) -> Decided:
        return await self._decide(decision_request(evidence_id, True, reason, keep_both), timeout)

    async def reject(self, evidence_id: str, reason: str, *, timeout: float | None = None) -> Decided:
        return await self._decide(decision_request(evidence_id, False, reason, False), timeout)

    async def explain(
        self,
        text: str,
        *,
        unit_id: str = "",
        timeout: float | None = None,
        **asking: Unpack[Asking],
    ) -> Explained:
        request = pb.ExplainRequest(question=question(text, asking), unit_id=unit_id)
        return Explained.from_wire(await self._client._ask(self._stub.Explain, request, timeout))

    async def consolidate(
        self, *collections: str, apply: bool = False, timeout: float | None = None
    ) -> Consolidated:
        request = upkeep_request(collections, apply)
        again: Again = "refused" if apply else "always"
        return await self._upkeep(request, timeout, again)

    async def undo(self, run_id: str, *, timeout: float | None = None) -> int:
        done = await self._upkeep(pb.ConsolidateRequest(undo=run_id), timeout, "refused")
        return done.undone

    async def runs(self, limit: int = 0, *, timeout: float | None = None) -> Consolidated:
        request = pb.ConsolidateRequest(runs=pb.ConsolidateRequest.Runs(limit=limit))
        return await self._upkeep(request, timeout, "always")

    async def stats(self, *, timeout: float | None = None) -> Stats:
        request = pb.StatsRequest()
        return Stats.from_wire(await self._client._ask(self._stub.Stats, request, timeout))

    async def _decide(self, request: pb.DecideReviewRequest, timeout: float | None) -> Decided:
        return Decided.from_wire(
            await self._client._ask(self._stub.DecideReview, request, timeout, "refused")
        )

    async def _upkeep(
        self, request: pb.ConsolidateRequest, timeout: float | None, again: Again
    ) -> Consolidated:
        return Consolidated.from_wire(
            await self._client._ask(self._stub.Consolidate, request, timeout, again)
        )


async def _each(
    drafts: Iterable[Ready] | AsyncIterable[Ready],
) -> AsyncIterator[pb.RememberManyRequest]:
    if isinstance(drafts, AsyncIterable):
        async for ready in drafts:
            yield one_of_many(ready)
    else:
        for ready in drafts:
            yield one_of_many(ready)

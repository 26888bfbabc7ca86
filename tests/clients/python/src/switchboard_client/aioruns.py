"""The reasoning, for asyncio: the methods of `Reason` as coroutines and asynchronous iterators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, Unpack

import grpc
import grpc.aio
from switchboard.reason.v1 import reason_pb2 as pb
from switchboard.reason.v1 import reason_pb2_grpc

from .core import left
from .reason import (
    End,
    RunEvent,
    RunOptions,
    RunState,
    RunSummary,
    Trace,
    list_request,
    run_request,
)
from .runs import PAGE, Following

if TYPE_CHECKING:
    from .aio import AsyncClient

Wire: TypeAlias = (
    "grpc.aio.UnaryStreamCall[pb.RunRequest, pb.RunEvent]"
    " | grpc.aio.UnaryStreamCall[pb.ResumeRequest, pb.RunEvent]"
)


class AsyncReason:
    """As `Reason`, whose methods say what they do."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._stub = reason_pb2_grpc.ReasonServiceStub(client.channel)

    def run(
        self, question: str, *, timeout: float | None = None, **more: Unpack[RunOptions]
    ) -> AsyncRun:
        return AsyncRun(self._client, self._stub, run_request(question, more), timeout)

    async def answer(
        self, question: str, *, timeout: float | None = None, **more: Unpack[RunOptions]
    ) -> End:
        async with self.run(question, timeout=timeout, **more) as run:
            return await run.wait()

    def resume(
        self,
        run_id: str,
        *,
        after: int = 0,
        cancel_on_drop: bool = False,
        timeout: float | None = None,
    ) -> AsyncRun:
        request = pb.ResumeRequest(run_id=run_id, after=after, cancel_on_drop=cancel_on_drop)
        return AsyncRun(self._client, self._stub, request, timeout)

    async def cancel(self, run_id: str, *, timeout: float | None = None) -> bool:
        request = pb.CancelRequest(run_id=run_id)
        return (await self._client._ask(self._stub.Cancel, request, timeout)).cancelled

    async def trace(self, run_id: str, *, timeout: float | None = None) -> Trace:
        request = pb.GetTraceRequest(run_id=run_id)
        return Trace.from_wire(await self._client._ask(self._stub.GetTrace, request, timeout))

    async def list(
        self,
        *states: RunState,
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> AsyncIterator[RunSummary]:
        request = list_request(states, conversation_id, PAGE)
        while True:
            page = await self._client._ask(self._stub.ListRuns, request, timeout)
            for one in page.runs:
                yield RunSummary.from_wire(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


class AsyncRun(Following, AsyncIterator[RunEvent]):
    """As `Run`. Cancelling the task that reads it ends the stream, not the run."""

    def __init__(
        self,
        client: AsyncClient,
        stub: reason_pb2_grpc.ReasonServiceAsyncStub,
        request: pb.RunRequest | pb.ResumeRequest,
        timeout: float | None,
    ) -> None:
        super().__init__(client, request, timeout)
        self._stub = stub
        self._wire = self._send()
        self._events = aiter(self._wire)

    def _send(self) -> Wire:
        request, end = self._next(), left(self._deadline)
        metadata = self._core._metadata()
        if isinstance(request, pb.RunRequest):
            return self._stub.Run(request, timeout=end, metadata=metadata)
        return self._stub.Resume(request, timeout=end, metadata=metadata, wait_for_ready=True)

    async def __anext__(self) -> RunEvent:
        while self.end is None:
            try:
                wire = await anext(self._events)
            except grpc.RpcError as error:
                await asyncio.sleep(self._pause(error))
                self._wire = self._send()
                self._events = aiter(self._wire)
            else:
                event = self._take(wire)
                if event is not None:
                    return event
        raise StopAsyncIteration

    async def wait(self) -> End:
        async for _ in self:
            pass
        return self._ended()

    def leave(self) -> None:
        self._wire.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

"""The reasoning, for programs with threads: `client.reason`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

import grpc
from switchboard.reason.v1 import reason_pb2 as pb
from switchboard.reason.v1 import reason_pb2_grpc

from .core import Again, Core, left
from .errors import CallFailed
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

if TYPE_CHECKING:
    from .client import Client

PAGE = 200


class Reason:
    """Starts, follows, ends and lists one's own runs; safe to share between threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stub = reason_pb2_grpc.ReasonServiceStub(client.channel)

    def run(
        self, question: str, *, timeout: float | None = None, **more: Unpack[RunOptions]
    ) -> Run:
        """Has a question answered. Gives the events of the run as they come, the last of which is its
        end; `timeout` is for all of them, None for as long as it takes.

        A stream that breaks, or whose daemon drains, is taken up again where it was. Leaving it does
        not end the run, unless `cancel_on_drop` is set.
        """
        return Run(self._client, self._stub, run_request(question, more), timeout)

    def answer(
        self, question: str, *, timeout: float | None = None, **more: Unpack[RunOptions]
    ) -> End:
        """As `run`, but gives the end alone: an Answer, or why there is none."""
        with self.run(question, timeout=timeout, **more) as run:
            return run.wait()

    def resume(
        self,
        run_id: str,
        *,
        after: int = 0,
        cancel_on_drop: bool = False,
        timeout: float | None = None,
    ) -> Run:
        """The events of a run behind `after`. One that waits for a person goes on, once decided."""
        request = pb.ResumeRequest(run_id=run_id, after=after, cancel_on_drop=cancel_on_drop)
        return Run(self._client, self._stub, request, timeout)

    def cancel(self, run_id: str, *, timeout: float | None = None) -> bool:
        """Ends a run. False when it had ended already."""
        request = pb.CancelRequest(run_id=run_id)
        return self._client._ask(self._stub.Cancel, request, timeout).cancelled

    def trace(self, run_id: str, *, timeout: float | None = None) -> Trace:
        """The evidence of a run, as far as it has come."""
        request = pb.GetTraceRequest(run_id=run_id)
        return Trace.from_wire(self._client._ask(self._stub.GetTrace, request, timeout))

    def list(
        self,
        *states: RunState,
        conversation_id: str = "",
        timeout: float | None = None,
    ) -> Iterator[RunSummary]:
        """Those started last first; of all states when none is named."""
        request = list_request(states, conversation_id, PAGE)
        while True:
            page = self._client._ask(self._stub.ListRuns, request, timeout)
            yield from map(RunSummary.from_wire, page.runs)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token


class Following:
    """Where a stream of events is, what each message of it stands for, and how it goes on after it broke;
    for threads and for asyncio, which only read and wait in their own ways."""

    def __init__(
        self, core: Core, request: pb.RunRequest | pb.ResumeRequest, timeout: float | None
    ) -> None:
        self.run_id = request.run_id if isinstance(request, pb.ResumeRequest) else ""
        """Empty until the first event of a new run."""
        self.last_seq = request.after if isinstance(request, pb.ResumeRequest) else 0
        """Of the last event that came."""
        self.end: End | None = None
        """The last event, once it is there."""
        self._core, self._request = core, request
        # A run takes as long as its own limits say, and longer where it waits for a person.
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._attempt = 1

    def _take(self, wire: pb.RunEvent) -> RunEvent | None:
        self._attempt = 1
        self.run_id, self.last_seq = wire.run_id, wire.seq
        event = RunEvent.from_wire(wire)
        if event is not None:
            self.end = event.end
        return event

    def _next(self) -> pb.RunRequest | pb.ResumeRequest:
        """What is sent to go on: nothing is started twice."""
        if not self.run_id:
            return self._request
        return pb.ResumeRequest(
            run_id=self.run_id,
            after=self.last_seq,
            cancel_on_drop=self._request.cancel_on_drop,
        )

    def _pause(self, error: grpc.RpcError) -> float:
        """Seconds until the stream is taken up again; the failure where it is not."""
        failed = CallFailed(error, self._request)
        # A run that may have been started is not started again.
        again: Again = "always" if self.run_id else "refused"
        pause = self._core._pause(failed, self._attempt, self._deadline, again)
        if pause is None:
            raise failed from error
        self._attempt += 1
        return pause

    def _ended(self) -> End:
        """The end, for who has read on to it."""
        if self.end is None:
            raise RuntimeError("the stream ended before its run")
        return self.end


class Run(Following, Iterator[RunEvent]):
    """The events of one run. Leaving its `with` block early ends the stream, not the run."""

    def __init__(
        self,
        client: Client,
        stub: reason_pb2_grpc.ReasonServiceStub,
        request: pb.RunRequest | pb.ResumeRequest,
        timeout: float | None,
    ) -> None:
        super().__init__(client, request, timeout)
        self._stub = stub
        self._wire = self._send()

    def _send(self) -> grpc._CallIterator[pb.RunEvent]:
        request, end = self._next(), left(self._deadline)
        metadata = self._core._metadata()
        if isinstance(request, pb.RunRequest):
            return self._stub.Run(request, timeout=end, metadata=metadata)
        return self._stub.Resume(request, timeout=end, metadata=metadata, wait_for_ready=True)

    def __next__(self) -> RunEvent:
        while self.end is None:
            try:
                wire = next(self._wire)
            except grpc.RpcError as error:
                time.sleep(self._pause(error))
                self._wire = self._send()
            else:
                event = self._take(wire)
                if event is not None:
                    return event
        raise StopIteration

    def wait(self) -> End:
        """Reads on to the end, and gives it."""
        for _ in self:
            pass
        return self._ended()

    def leave(self) -> None:
        """Ends the stream."""
        self._wire.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

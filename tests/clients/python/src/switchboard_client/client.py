"""The client for programs with threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack

import grpc
from google.protobuf.message import Message
from switchboard.policy.v1 import policy_pb2 as policy_pb
from switchboard.policy.v1 import policy_pb2_grpc
from switchboard.tools.v1 import tools_pb2 as pb
from switchboard.tools.v1 import tools_pb2_grpc

from . import approvals, events
from .approvals import Approval, State
from .batches import Batch, Entry, OnFailure, batch_request
from .channel import Options, Tls, Token
from .core import Again, Arguments, CallOptions, Core, again, call_request, left
from .errors import CallFailed
from .events import Event
from .memories import Memory
from .native import Message as NativeMessage
from .native import NativeAnswer, Provider, native_request
from .replies import Reply
from .results import Bytes, Content, LinePage, Page, page_request
from .runs import Reason
from .tools import (
    Detail,
    Dialect,
    HitList,
    Risk,
    Tool,
    ToolList,
    Verdict,
    dialect_to_wire,
    list_request,
    search_request,
)

Ask = TypeVar("Ask", bound=Message)
Answer = TypeVar("Answer", bound=Message)


class Client(Core):
    """One channel to a daemon; safe to share between threads.

    `endpoint` is `unix:/path/of/the.sock` or `host:port`. `timeout` holds for each RPC with all its
    attempts. `token` may be a function, for tokens that are renewed.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        tls: Tls | None = None,
        token: Token = None,
        timeout: float | None = 60.0,
        attempts: int = 5,
        options: Options = (),
    ) -> None:
        super().__init__(
            endpoint, tls=tls, token=token, timeout=timeout, attempts=attempts, options=options
        )
        self.channel = (
            grpc.secure_channel(endpoint, tls.credentials(), options=self._options())
            if tls
            else grpc.insecure_channel(endpoint, options=self._options())
        )
        self.tools = tools_pb2_grpc.ToolServiceStub(self.channel)
        self.policies = policy_pb2_grpc.PolicyServiceStub(self.channel)
        self.approvals = Approvals(self)
        self.memory = Memory(self)
        self.reason = Reason(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.channel.close()

    def call(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> Reply:
        """Runs one call. An error of the tool or a refusal is a reply; CallFailed is a status."""
        response = self._send(
            self.tools.Call, lambda: call_request(tool, arguments, **more), timeout, again(more)
        )
        return Reply.from_wire(response.reply)

    def stream(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> Stream:
        """As `call`, but tells how it goes on the way. Never sent again by itself."""
        request = call_request(tool, arguments, **more)
        wire = self.tools.CallStream(
            request, timeout=left(self._end(timeout)), metadata=self._metadata()
        )
        return Stream(request, wire)

    def validate(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> Verdict:
        """Everything but the execution."""
        request = call_request(tool, arguments, **more)
        return Verdict.from_wire(self._ask(self.tools.Validate, request, timeout))

    def list_tools(
        self,
        prefix: str = "",
        *,
        dialect: Dialect | None = None,
        detail: Detail = "full",
        timeout: float | None = None,
    ) -> ToolList:
        """All tools that this caller may be able to use, by name."""
        found, request = ToolList(), list_request(prefix, dialect, detail)
        while True:
            page = self._ask(self.tools.ListTools, request, timeout)
            found += map(Tool.from_wire, page.tools)
            # Of the first page: a catalog that changed meanwhile is seen to have changed.
            found.catalog_digest = found.catalog_digest or page.catalog_digest
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def get_tool(
        self, name: str, *, dialect: Dialect | None = None, timeout: float | None = None
    ) -> Tool:
        """By its own name, whatever the dialect."""
        request = pb.GetToolRequest(name=name, dialect=dialect_to_wire(dialect))
        return Tool.from_wire(self._ask(self.tools.GetTool, request, timeout))

    def search_tools(
        self,
        query: str,
        *,
        limit: int = 10,
        prefix: str = "",
        sources: Sequence[str] = (),
        risks: Sequence[Risk] = (),
        dialect: Dialect | None = None,
        detail: Detail = "full",
        timeout: float | None = None,
    ) -> HitList:
        """The tools that fit a question best, best first."""
        request = search_request(
            query,
            limit=limit,
            prefix=prefix,
            sources=sources,
            risks=risks,
            dialect=dialect,
            detail=detail,
        )
        return HitList.from_wire(self._ask(self.tools.SearchTools, request, timeout))

    def call_native(
        self,
        provider: Provider,
        message: NativeMessage,
        *,
        dialect: Dialect | None = None,
        conversation_id: str = "",
        idempotency_prefix: str = "",
        wait_for_approval: bool = False,
        text_calls: bool = False,
        max_tokens: int = 0,
        timeout: float | None = None,
    ) -> NativeAnswer:
        """Runs the calls in a model's own message, and gives the messages with their results.

        `text_calls` also looks for calls in the text of a message that has no others. `max_tokens` is
        of each result, as for a call.
        """
        request = native_request(
            provider,
            message,
            dialect=dialect,
            conversation_id=conversation_id,
            idempotency_prefix=idempotency_prefix,
            wait_for_approval=wait_for_approval,
            text_calls=text_calls,
            max_tokens=max_tokens,
        )
        again: Again = "always" if idempotency_prefix else "refused"
        return NativeAnswer.from_wire(self._ask(self.tools.CallNative, request, timeout, again))

    def batch(
        self,
        calls: Mapping[str, Entry],
        *,
        on_failure: OnFailure = "continue",
        timeout: float | None = None,
    ) -> Batch:
        """Runs several calls, by name, each as soon as those that it refers to have succeeded."""
        response = self._send(
            self.tools.CallBatch, lambda: batch_request(calls, on_failure), timeout, "refused"
        )
        return Batch.from_wire(response)

    def result(self, call_id: str, *, timeout: float | None = None) -> Reply:
        """Reads a recorded reply again, whole; its files have no content then."""
        text, request = "", pb.GetResultRequest(call_id=call_id)
        while True:
            page = self._ask(self.tools.GetResult, request, timeout)
            text += page.json
            if not page.next_offset:
                return Reply.from_json(text)
            request.offset = page.next_offset

    def result_page(
        self,
        call_id: str,
        pointer: str = "",
        *,
        first: int = 0,
        count: int = 0,
        max_tokens: int = 0,
        limit: int = 0,
        timeout: float | None = None,
    ) -> Page:
        """One value of a recorded reply, by JSON Pointer from the reply's root, for example
        `/data/orders/17`; of an array, an object or a text as much as fits, from `first` on.

        At most `count` items, members or characters, `max_tokens` tokens and `limit` bytes; 0 for no
        bound, and for 1 MiB. An item that alone takes more is shortened, with markers inside.
        """
        request = page_request(call_id, pointer, first, count, max_tokens, limit)
        return Page.from_wire(self._ask(self.tools.GetResult, request, timeout))

    def result_pages(
        self,
        call_id: str,
        pointer: str = "",
        *,
        first: int = 0,
        count: int = 0,
        max_tokens: int = 0,
        limit: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Page]:
        """As `result_page`, and all pages after that one; the bounds are those of each page."""
        request = page_request(call_id, pointer, first, count, max_tokens, limit)
        while True:
            page = Page.from_wire(self._ask(self.tools.GetResult, request, timeout))
            yield page
            if page.next_first is None:
                return
            request.first = page.next_first

    def result_content(
        self,
        call_id: str,
        pointer: str,
        *,
        first: int = 0,
        count: int = 0,
        limit: int = 0,
        timeout: float | None = None,
    ) -> Content:
        """The bytes behind a handle, or any text in base64 or as a data: URL. All from `first` on, or
        at most `count` of them; they are fetched in pages of `limit` bytes, 0 for 1 MiB."""
        found = Bytes(call_id, pointer, first, count, limit)
        while True:
            page = self._ask(self.tools.GetResult, found.request, timeout)
            if (content := found.add(page)) is not None:
                return content

    def result_line(
        self, call_id: str, *, offset: int = 0, limit: int = 0, timeout: float | None = None
    ) -> LinePage:
        """A page of the reply's one line of JSON: at most `limit` bytes (0 for 1 MiB) from `offset`
        on, which is 0 or a `next_offset`."""
        request = pb.GetResultRequest(call_id=call_id, offset=offset, limit=limit)
        return LinePage.from_wire(self._ask(self.tools.GetResult, request, timeout))

    def cancel(self, call_id: str, *, timeout: float | None = None) -> bool:
        """Ends a running call. False when it had ended already."""
        request = pb.CancelRequest(call_id=call_id)
        return self._ask(self.tools.Cancel, request, timeout).cancelled

    def _ask(
        self,
        method: grpc.UnaryUnaryMultiCallable[Ask, Answer],
        request: Ask,
        timeout: float | None,
        again: Again = "always",
    ) -> Answer:
        return self._send(method, lambda: request, timeout, again)

    def _send(
        self,
        method: grpc.UnaryUnaryMultiCallable[Ask, Answer],
        make: Callable[[], Ask],
        timeout: float | None,
        again: Again,
    ) -> Answer:
        """One unary RPC, sent again where that is safe; each attempt with a request of its own."""
        end = self._end(timeout)
        attempt, drained = 1, False
        while True:
            request = make()
            try:
                return method(
                    request, timeout=left(end), metadata=self._metadata(), wait_for_ready=drained
                )
            except grpc.RpcError as error:
                failed = CallFailed(error, request)
                pause = self._pause(failed, attempt, end, again)
                if pause is None:
                    raise failed from error
                # A daemon that drains may have a successor, which is about to start.
                drained = failed.by_daemon
            time.sleep(pause)
            attempt += 1


class Stream(Iterator[Event]):
    """The events of one call. Leaving its `with` block early ends the call."""

    def __init__(self, request: pb.CallRequest, wire: grpc._CallIterator[pb.CallEvent]) -> None:
        self.call_id = request.call_id
        self.reply: Reply | None = None
        """The last event, once it is there."""
        self._request = request
        self._wire = wire

    def __next__(self) -> Event:
        while True:
            try:
                event = events.from_wire(next(self._wire))
            except grpc.RpcError as error:
                raise CallFailed(error, self._request) from error
            if isinstance(event, Reply):
                self.reply = event
            if event is not None:
                return event

    def cancel(self) -> None:
        self._wire.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()


class Approvals:
    """The calls that wait for a person, as far as this caller may see them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stub = client.policies

    def list(self, *states: State, timeout: float | None = None) -> list[Approval]:
        """Newest first; of all states when none is named."""
        found: list[Approval] = []
        request = policy_pb.ListApprovalsRequest(states=approvals.states(states), page_size=1000)
        while True:
            page = self._client._ask(self._stub.ListApprovals, request, timeout)
            found += map(Approval.from_wire, page.approvals)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def get(self, approval_id: str, *, timeout: float | None = None) -> Approval:
        request = policy_pb.GetApprovalRequest(approval_id=approval_id)
        return Approval.from_wire(self._client._ask(self._stub.GetApproval, request, timeout))

    def approve(
        self, approval_id: str, reason: str = "", *, timeout: float | None = None
    ) -> Approval:
        return self._decide(approval_id, True, reason, timeout)

    def deny(self, approval_id: str, reason: str = "", *, timeout: float | None = None) -> Approval:
        return self._decide(approval_id, False, reason, timeout)

    def watch(
        self, *states: State, after: int = 0, timeout: float | None = None
    ) -> Iterator[Approval]:
        """Every approval that changed after this revision and each that changes from now on. Goes on
        when the daemon ends the stream or restarts; `timeout` is for all of it, None for no end."""
        end = None if timeout is None else time.monotonic() + timeout
        request = policy_pb.WatchApprovalsRequest(
            states=approvals.states(states), after_revision=after
        )
        attempt = 1
        while True:
            wire = self._stub.WatchApprovals(
                request,
                timeout=left(end),
                metadata=self._client._metadata(),
            )
            try:
                for approval in wire:
                    attempt, request.after_revision = 1, approval.revision
                    yield Approval.from_wire(approval)
                return
            except grpc.RpcError as error:
                failed = CallFailed(error, request)
                pause = self._client._pause(failed, attempt, end, "always")
                if pause is None:
                    raise failed from error
            finally:
                wire.cancel()
            time.sleep(pause)
            attempt += 1

    def _decide(
        self, approval_id: str, approve: bool, reason: str, timeout: float | None
    ) -> Approval:
        request = approvals.decision(approval_id, approve, reason)
        # After a broken connection it may have been decided already.
        answer = self._client._ask(self._stub.DecideApproval, request, timeout, "refused")
        return Approval.from_wire(answer)

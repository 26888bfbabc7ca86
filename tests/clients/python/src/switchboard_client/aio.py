"""The client for asyncio: the methods of `Client` but for approvals, as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar, Unpack

import grpc
import grpc.aio
from google.protobuf.message import Message
from switchboard.tools.v1 import tools_pb2 as pb
from switchboard.tools.v1 import tools_pb2_grpc

from . import events
from .aiomemories import AsyncMemory
from .aioruns import AsyncReason
from .batches import Batch, Entry, OnFailure, batch_request
from .channel import Options, Tls, Token
from .core import Again, Arguments, CallOptions, Core, again, call_request, left
from .errors import CallFailed
from .events import Event
from .native import Message as NativeMessage
from .native import NativeAnswer, Provider, native_request
from .replies import Reply
from .results import Bytes, Content, LinePage, Page, page_request
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


class AsyncClient(Core):
    """One channel to a daemon. Cancelling a task ends its call, in the sandbox, too."""

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
            grpc.aio.secure_channel(endpoint, tls.credentials(), options=self._options())
            if tls
            else grpc.aio.insecure_channel(endpoint, options=self._options())
        )
        self.tools = tools_pb2_grpc.ToolServiceStub(self.channel)
        self.memory = AsyncMemory(self)
        self.reason = AsyncReason(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.channel.close()

    async def call(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> Reply:
        """Runs one call. An error of the tool or a refusal is a reply; CallFailed is a status."""
        response = await self._send(
            self.tools.Call, lambda: call_request(tool, arguments, **more), timeout, again(more)
        )
        return Reply.from_wire(response.reply)

    async def stream(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> AsyncIterator[Event]:
        """As `call`, but tells how it goes on the way; the reply comes last."""
        request = call_request(tool, arguments, **more)
        wire = self.tools.CallStream(
            request, timeout=left(self._end(timeout)), metadata=self._metadata()
        )
        try:
            async for part in wire:
                if (event := events.from_wire(part)) is not None:
                    yield event
        except grpc.RpcError as error:
            raise CallFailed(error, request) from error
        finally:
            wire.cancel()

    async def validate(
        self,
        tool: str,
        arguments: Arguments,
        *,
        timeout: float | None = None,
        **more: Unpack[CallOptions],
    ) -> Verdict:
        """Everything but the execution."""
        request = call_request(tool, arguments, **more)
        return Verdict.from_wire(await self._ask(self.tools.Validate, request, timeout))

    async def list_tools(
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
            page = await self._ask(self.tools.ListTools, request, timeout)
            found += map(Tool.from_wire, page.tools)
            # Of the first page: a catalog that changed meanwhile is seen to have changed.
            found.catalog_digest = found.catalog_digest or page.catalog_digest
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    async def search_tools(
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
        return HitList.from_wire(await self._ask(self.tools.SearchTools, request, timeout))

    async def call_native(
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
        """As `Client.call_native`."""
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
        return NativeAnswer.from_wire(
            await self._ask(self.tools.CallNative, request, timeout, again)
        )

    async def get_tool(
        self, name: str, *, dialect: Dialect | None = None, timeout: float | None = None
    ) -> Tool:
        """By its own name, whatever the dialect."""
        request = pb.GetToolRequest(name=name, dialect=dialect_to_wire(dialect))
        return Tool.from_wire(await self._ask(self.tools.GetTool, request, timeout))

    async def batch(
        self,
        calls: Mapping[str, Entry],
        *,
        on_failure: OnFailure = "continue",
        timeout: float | None = None,
    ) -> Batch:
        """Runs several calls, by name, each as soon as those that it refers to have succeeded."""
        response = await self._send(
            self.tools.CallBatch, lambda: batch_request(calls, on_failure), timeout, "refused"
        )
        return Batch.from_wire(response)

    async def result(self, call_id: str, *, timeout: float | None = None) -> Reply:
        """Reads a recorded reply again, whole; its files have no content then."""
        text, request = "", pb.GetResultRequest(call_id=call_id)
        while True:
            page = await self._ask(self.tools.GetResult, request, timeout)
            text += page.json
            if not page.next_offset:
                return Reply.from_json(text)
            request.offset = page.next_offset

    async def result_page(
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
        return Page.from_wire(await self._ask(self.tools.GetResult, request, timeout))

    async def result_pages(
        self,
        call_id: str,
        pointer: str = "",
        *,
        first: int = 0,
        count: int = 0,
        max_tokens: int = 0,
        limit: int = 0,
        timeout: float | None = None,
    ) -> AsyncIterator[Page]:
        """As `result_page`, and all pages after that one; the bounds are those of each page."""
        request = page_request(call_id, pointer, first, count, max_tokens, limit)
        while True:
            page = Page.from_wire(await self._ask(self.tools.GetResult, request, timeout))
            yield page
            if page.next_first is None:
                return
            request.first = page.next_first

    async def result_content(
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
            page = await self._ask(self.tools.GetResult, found.request, timeout)
            if (content := found.add(page)) is not None:
                return content

    async def result_line(
        self, call_id: str, *, offset: int = 0, limit: int = 0, timeout: float | None = None
    ) -> LinePage:
        """A page of the reply's one line of JSON: at most `limit` bytes (0 for 1 MiB) from `offset`
        on, which is 0 or a `next_offset`."""
        request = pb.GetResultRequest(call_id=call_id, offset=offset, limit=limit)
        return LinePage.from_wire(await self._ask(self.tools.GetResult, request, timeout))

    async def cancel(self, call_id: str, *, timeout: float | None = None) -> bool:
        """Ends a running call. False when it had ended already."""
        request = pb.CancelRequest(call_id=call_id)
        return (await self._ask(self.tools.Cancel, request, timeout)).cancelled

    async def _ask(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Ask, Answer],
        request: Ask,
        timeout: float | None,
        again: Again = "always",
    ) -> Answer:
        return await self._send(method, lambda: request, timeout, again)

    async def _send(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[Ask, Answer],
        make: Callable[[], Ask],
        timeout: float | None,
        again: Again,
    ) -> Answer:
        end = self._end(timeout)
        attempt, drained = 1, False
        while True:
            request = make()
            try:
                return await method(
                    request, timeout=left(end), metadata=self._metadata(), wait_for_ready=drained
                )
            except grpc.RpcError as error:
                failed = CallFailed(error, request)
                pause = self._pause(failed, attempt, end, again)
                if pause is None:
                    raise failed from error
                # A daemon that drains may have a successor, which is about to start.
                drained = failed.by_daemon
            await asyncio.sleep(pause)
            attempt += 1

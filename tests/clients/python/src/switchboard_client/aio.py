"""The client for asyncio: the methods of `Client` that run calls, as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self, TypeVar, Unpack

import grpc
import grpc.aio
from google.protobuf.message import Message
from switchboard.tools.v1 import tools_pb2 as pb
from switchboard.tools.v1 import tools_pb2_grpc

from . import events
from .channel import Options, Tls, Token
from .core import Again, Arguments, CallOptions, Core, again, call_request, left
from .errors import CallFailed
from .events import Event
from .native import Message as NativeMessage
from .native import NativeAnswer, Provider, native_request
from .replies import Reply
from .tools import Dialect, Tool, Verdict, dialect_to_wire

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
        answer = await self._send(self.tools.Validate, lambda: request, timeout, "always")
        return Verdict.from_wire(answer)

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
        timeout: float | None = None,
    ) -> NativeAnswer:
        """As `Client.call_native`."""
        request = native_request(
            provider,
            message,
            dialect,
            conversation_id,
            idempotency_prefix,
            wait_for_approval,
            text_calls,
        )
        again: Again = "always" if idempotency_prefix else "refused"
        return NativeAnswer.from_wire(
            await self._send(self.tools.CallNative, lambda: request, timeout, again)
        )

    async def get_tool(
        self, name: str, *, dialect: Dialect | None = None, timeout: float | None = None
    ) -> Tool:
        """By its own name, whatever the dialect."""
        request = pb.GetToolRequest(name=name, dialect=dialect_to_wire(dialect))
        return Tool.from_wire(
            await self._send(self.tools.GetTool, lambda: request, timeout, "always")
        )

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

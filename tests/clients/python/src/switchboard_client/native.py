"""A model's own message in, the messages to append to its conversation out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from switchboard.tools.v1 import tools_pb2 as pb

from .exact import Json, maybe, parse, render
from .options import check_choice
from .replies import Reply
from .tools import Dialect, dialect_to_wire

Provider: TypeAlias = Literal[
    "openai_chat", "openai_responses", "anthropic", "gemini", "ollama", "text"
]
Reading: TypeAlias = Literal["unspecified", "prose", "final", "calls", "unclear"]
Message: TypeAlias = Mapping[str, object] | str | bytes
"""A message, or the response that holds it, as JSON; or, as bytes, the body of a streamed one."""


@dataclass(frozen=True)
class NativeCall:
    """One call of the message."""

    native_id: str
    native_name: str
    call_id: str
    reply: Reply


@dataclass(frozen=True)
class NativeAnswer:
    """What became of a model's message."""

    messages: tuple[dict[str, Json], ...]
    """To append to the conversation after the model's own message, in this order."""
    calls: tuple[NativeCall, ...]
    stop_reason: str
    text: str
    """What the message says around its calls."""
    reading: Reading
    """What its text was; unspecified when it was not searched for calls."""
    answer: str
    """The answer in a text that was `final`."""
    answer_object: Json
    """The JSON object that this answer stood in; None without one."""

    @staticmethod
    def from_wire(wire: pb.CallNativeResponse) -> NativeAnswer:
        return NativeAnswer(
            messages=tuple(cast("dict[str, Json]", parse(text)) for text in wire.messages_json),
            calls=tuple(
                NativeCall(
                    call.native_id, call.native_name, call.call_id, Reply.from_wire(call.reply)
                )
                for call in wire.calls
            ),
            stop_reason=wire.stop_reason,
            text=wire.text,
            reading=cast(Reading, pb.Reading.Name(wire.reading).removeprefix("READING_").lower()),
            answer=wire.answer,
            answer_object=maybe(wire.answer_json),
        )


def native_request(
    provider: Provider,
    message: Message,
    *,
    dialect: Dialect | None,
    conversation_id: str,
    idempotency_prefix: str,
    wait_for_approval: bool,
    text_calls: bool,
    max_tokens: int,
) -> pb.CallNativeRequest:
    chosen = check_choice("provider", provider, get_args(Provider))
    request = pb.CallNativeRequest(
        provider=pb.Provider.Value(f"PROVIDER_{chosen.upper()}"),
        dialect=dialect_to_wire(dialect),
        conversation_id=conversation_id,
        idempotency_prefix=idempotency_prefix,
        wait_for_approval=wait_for_approval,
        text_calls=text_calls,
        max_tokens=max_tokens,
    )
    if isinstance(message, bytes):
        request.stream = message
    elif isinstance(message, str) and provider == "text":
        request.text = message
    else:
        request.message_json = message if isinstance(message, str) else render(message)
    return request

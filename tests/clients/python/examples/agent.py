"""An agent: any model behind the OpenAI chat completions API, with the tools of Switchboard.

    export OPENAI_API_KEY=...
    python agent.py --endpoint unix:/run/switchboard/switchboard.sock \
        --base-url https://models.example/v1 --model NAME "How many words are in this sentence?"

The model's messages go to Switchboard as they came; what comes back goes to the model as it came.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from switchboard_client import CallFailed, Client, Dialect, NativeCall, Reply, parse, render

# Providers take 128 tools; models choose worse long before that.
MOST_TOOLS = 32
# Of a result at once. The model is shown what is left out, and reads on where it wants to.
MOST_TOKENS = 4000
MOST_BYTES = 8 << 20
CUT_OFF = "Your answer was cut off. Give a shorter one."


class AgentError(Exception):
    """Why there is no answer."""


@dataclass(frozen=True)
class Turn:
    """A model's message, and the body of the response that it came in."""

    message: dict[str, Any]
    body: str | bytes
    finish: str | None


class Model:
    """A chat completions endpoint."""

    def __init__(
        self, base_url: str, name: str, key: str, *, stream: bool = False, attempts: int = 5
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._name = name
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        self._stream = stream
        self._attempts = attempts

    def answer(self, messages: list[dict[str, Any]], tools: list[Any]) -> Turn:
        """The model's next message. Waits and asks again while the provider is busy or broken."""
        asked: dict[str, Any] = {"model": self._name, "messages": messages}
        if tools:
            asked["tools"] = tools
        if self._stream:
            asked["stream"] = True
        body, why = render(asked).encode(), ""
        for attempt in range(1, self._attempts + 1):
            wait = min(8.0, 0.25 * 2**attempt)
            request = urllib.request.Request(self._url, body, self._headers)
            try:
                with urllib.request.urlopen(request, timeout=120) as response:
                    return self._read(response.read(MOST_BYTES))
            except urllib.error.HTTPError as error:
                if error.code not in (408, 409, 429) and error.code < 500:
                    raise AgentError(f"the model refused: {refusal(error)}") from error
                why, wait = str(error), retry_after(error, wait)
            except (OSError, http.client.HTTPException, ValueError) as error:
                why = f"{type(error).__name__}: {error}"
            if attempt < self._attempts:
                time.sleep(wait)
        raise AgentError(f"the model cannot be reached: {why}")

    def _read(self, body: bytes) -> Turn:
        if self._stream:
            message, finish = assemble(body)
            return Turn(message, body, finish)
        text = body.decode()
        whole: Any = parse(text)
        try:
            choice = whole["choices"][0]
            return Turn(choice["message"], text, choice.get("finish_reason"))
        except (KeyError, IndexError, TypeError) as error:
            raise AgentError(f"the model's response has no message: {text[:200]}") from error


class Reader:
    """A function of the agent's own, by which the model reads on in what it was shown in part."""

    NAME = "read_result"
    DEFINITION = {
        "type": "function",
        "function": {
            "name": NAME,
            "description": (
                "Reads on in a result of which you were shown a part. What was left out is marked by "
                '{"$more": {"pointer": POINTER, "first": FIRST}} or, at the end of a text, by '
                "[... more characters: POINTER from FIRST]. Read no more than you need."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "call_id": {"type": "string", "description": "call_id of the result."},
                    "pointer": {"type": "string", "description": "pointer of the marker."},
                    "first": {"type": "integer", "description": "first of the marker, or later."},
                },
                "required": ["call_id", "pointer", "first"],
                "additionalProperties": False,
            },
        },
    }

    def __init__(self, client: Client, most_tokens: int) -> None:
        self._client = client
        self._most_tokens = most_tokens
        # Only results of this conversation: what another one brought has no place here.
        self._shown: dict[str, Reply] = {}

    @property
    def tools(self) -> list[Any]:
        """Offered once there is something to read."""
        return [self.DEFINITION] if self._shown else []

    def note(self, calls: Iterable[NativeCall]) -> None:
        for call in calls:
            if call.reply.metadata.view is not None:
                self._shown[call.call_id] = call.reply

    def split(self, turn: Turn) -> tuple[list[Any], str | bytes | None]:
        """The calls of this function, and the response without them; None when nothing is left."""
        calls = turn.message.get("tool_calls") or []
        own = [call for call in calls if self._shown and call["function"]["name"] == self.NAME]
        others = [call for call in calls if call not in own]
        if not own:
            return own, turn.body
        choice = {"message": {**turn.message, "tool_calls": others}, "finish_reason": turn.finish}
        return own, render({"choices": [choice]}) if others else None

    def answer(self, call: dict[str, Any]) -> dict[str, Any]:
        """The message with what such a call reads, or with what is wrong with it."""
        try:
            result = self._read(parse(call["function"]["arguments"]))
        except CallFailed as failed:
            why = [f"{one.field} {one.description}" for one in failed.violations]
            result = {"status": "error", "error": {"message": "; ".join(why) or failed.message}}
        except (KeyError, TypeError, ValueError):
            need = "needs call_id, pointer and first of a result that was shown in part"
            result = {"status": "error", "error": {"message": f"{self.NAME} {need}"}}
        return {"role": "tool", "tool_call_id": call["id"], "content": render(result)}

    def _read(self, arguments: Any) -> dict[str, Any]:
        call_id, pointer, first = (arguments[name] for name in ("call_id", "pointer", "first"))
        told = self._shown[call_id].metadata.more
        page = self._client.result_page(
            call_id, pointer, first=first, max_tokens=self._most_tokens
        )
        # The same envelope as that of the result itself.
        kept = ("untrusted", "origin", "flags")
        envelope: dict[str, Any] = {key: told[key] for key in kept if key in told}
        counted = {"first": first, "total": page.total, "next_first": page.next_first}
        return {"status": "success", **envelope, "data": page.value, "page": counted}


def run(
    client: Client,
    model: Model,
    question: str,
    *,
    steps: int = 8,
    wait: float | None = None,
    most_tools: int = MOST_TOOLS,
    most_tokens: int = MOST_TOKENS,
    dialect: Dialect = "openai",
    tell: Callable[[NativeCall], None] = lambda call: None,
) -> str:
    """Lets the model call tools until it answers. Waits up to `wait` seconds for each message's calls
    to be approved by a person; without it the model is told that somebody has to. Of each result the
    model is shown `most_tokens` at once."""
    conversation = str(uuid.uuid4())
    tools, reader = choose(client, question, most_tools, dialect), Reader(client, most_tokens)
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    for _ in range(steps):
        turn = model.answer(messages, [*tools, *reader.tools])
        messages.append(turn.message)
        own, body = reader.split(turn)
        messages += map(reader.answer, own)
        if body is None:
            continue
        done = client.call_native(
            "openai_chat",
            body,
            dialect=dialect,
            conversation_id=conversation,
            text_calls=True,
            max_tokens=most_tokens,
            wait_for_approval=wait is not None,
            timeout=wait,
        )
        for call in done.calls:
            tell(call)
        reader.note(done.calls)
        messages += done.messages
        if own or done.messages:
            continue
        if done.stop_reason != "length":
            return done.answer or done.text
        messages.append({"role": "user", "content": CUT_OFF})
    raise AgentError(f"no answer within {steps} steps")


def choose(client: Client, question: str, most: int, dialect: Dialect) -> list[Any]:
    """All tools when they are few, else those that fit the question, in the terms of the model host."""
    tools = client.list_tools(dialect=dialect)
    if len(tools) <= most:
        return [tool.definition for tool in tools]
    hits = client.search_tools(question[:250], limit=most, dialect=dialect)
    return [hit.tool.definition for hit in hits]


def show(call: NativeCall) -> None:
    code = call.reply.error.code if call.reply.error else "ok"
    print(f"{call.native_name}: {code}, call {call.call_id}", file=sys.stderr)


def assemble(body: bytes) -> tuple[dict[str, Any], str | None]:
    """The message whose pieces a stream brought, and why the model ended it."""
    text, calls, ended, finish = "", dict[int, dict[str, Any]](), False, None
    for data in events(body):
        if data == "[DONE]":
            ended = True
            continue
        for choice in json.loads(data).get("choices", []):
            finish = choice.get("finish_reason") or finish
            delta = choice.get("delta", {})
            text += delta.get("content") or ""
            for piece in delta.get("tool_calls") or []:
                join(calls, piece)
    if not ended and finish is None:
        raise ValueError("the stream broke off")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message, finish


def join(calls: dict[int, dict[str, Any]], piece: dict[str, Any]) -> None:
    """Adds a piece to its call. Some servers leave the index out: then a name begins a call."""
    function = piece.get("function", {})
    index = piece.get("index")
    if index is None:
        index = len(calls) if function.get("name") else len(calls) - 1
    empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    call = calls.setdefault(index, empty)
    call["id"] = piece.get("id") or call["id"]
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""


def events(body: bytes) -> Iterator[str]:
    # Not splitlines(), which also breaks at characters that may stand in JSON text.
    for line in body.decode().replace("\r\n", "\n").split("\n"):
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()


def refusal(error: urllib.error.HTTPError) -> str:
    """What the provider says, in its error shape or another."""
    text = error.read(MOST_BYTES).decode(errors="replace")
    try:
        return f"{error.code} {json.loads(text)['error']['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {text[:200]}"


def retry_after(error: urllib.error.HTTPError, otherwise: float) -> float:
    try:
        return min(60.0, float(error.headers.get("retry-after", "")))
    except ValueError:
        return otherwise


def main() -> int:
    parser = argparse.ArgumentParser(description="Asks a model that can use Switchboard's tools.")
    parser.add_argument("--endpoint", default="unix:/run/switchboard/switchboard.sock")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--stream", action="store_true", help="have the answers streamed")
    parser.add_argument("--steps", type=int, default=8, help="most messages of the model")
    parser.add_argument("--wait", type=float, help="seconds to wait for a person's approval")
    parser.add_argument("--tools", type=int, default=MOST_TOOLS, help="most tools to offer")
    parser.add_argument(
        "--tokens", type=int, default=MOST_TOKENS, help="most tokens of a result at once"
    )
    parser.add_argument("--strict", action="store_true", help="offer them in strict mode")
    parser.add_argument("question")
    chosen = parser.parse_args()
    key = os.environ.get("OPENAI_API_KEY", "none")
    model = Model(chosen.base_url, chosen.model, key, stream=chosen.stream)
    try:
        with Client(chosen.endpoint) as client:
            options = {
                "steps": chosen.steps,
                "wait": chosen.wait,
                "most_tools": chosen.tools,
                "most_tokens": chosen.tokens,
                "dialect": "openai_strict" if chosen.strict else "openai",
            }
            print(run(client, model, chosen.question, tell=show, **options))
    except (AgentError, CallFailed) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""One playing of a script: a request's body in, the script's next answer out."""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from rules import Breach, check, need

CALL_ID = re.compile(r'"call_id":"([^"]+)"')


@dataclass
class Refusal(Exception):
    """An answer that is an error."""

    status: int
    error: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """A choice of the model, and whether its stream breaks before the end."""

    message: dict[str, Any]
    finish: str
    breaks: bool = False


class Play:
    """The turns of a script, in order, each for one request."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.turns: list[dict[str, Any]] = script["turns"]
        self.played = 0
        self.refused: list[str] = []
        self._sent: dict[str, dict[str, Any]] = {}
        self._ids: list[str] = []
        self._call_id = ""
        self._again: tuple[Any, float] | None = None

    def answer(self, authorization: str, body: Any) -> Answer:
        """The answer of the next turn. Raises a Refusal, which also notes what was wrong."""
        try:
            need(authorization.startswith("Bearer "), "authorization", "you gave no key")
            check(body)
            need(self.played < len(self.turns), "script", "has no more turns")
            turn = self.turns[self.played]
            self._expect(turn.get("expects", {}), body)
            self._unchanged(body["messages"])
        except (Breach, AttributeError, KeyError, TypeError) as error:
            # What is not of the type that a check took for granted is a breach, too.
            breach = error if isinstance(error, Breach) else Breach("body", repr(error))
            self.refused.append(str(breach))
            shape = {
                "message": breach.message,
                "type": "invalid_request_error",
                "param": breach.param,
                "code": None,
            }
            raise Refusal(400, shape) from breach
        self.played += 1
        if fails := turn.get("fails"):
            raise self._fail(fails, body)
        answer = self._say(turn, body.get("tools", []))
        if answer.breaks:
            self._again = (body, time.monotonic())
        return answer

    def _expect(self, expects: dict[str, Any], body: Any) -> None:
        messages = body["messages"]
        if self._again:
            same, earliest = self._again
            need(body == same, "script", "a request that failed must be sent again as it was")
            need(time.monotonic() >= earliest, "script", "sent again before Retry-After")
            self._again = None
        answers = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
        for answer in filter(None, map(answers.get, self._ids)):
            if found := CALL_ID.search(str(answer)):
                self._call_id = found[1]
        results = expects.get("results")
        if results is not None:
            need(len(results) == len(self._ids), "script", "expects as many results as calls")
            for call_id, wanted in zip(self._ids, results, strict=True):
                compare(answers.get(call_id), wanted, f"result of {call_id}")
        offered = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", [])}
        most = expects.get("tools", {}).get("most", len(offered))
        need(len(offered) <= most, "script", f"expects at most {most} tools, not {len(offered)}")
        for name in expects.get("tools", {}).get("strict", []):
            need(offered[name].get("strict") is True, "script", f"expects `{name}` in strict mode")
        if "user" in expects:
            need(messages[-1]["role"] == "user", "script", "expects a message of the user")
            compare(messages[-1]["content"], expects["user"], "the user's message")

    def _unchanged(self, messages: list[dict[str, Any]]) -> None:
        """The model's own messages come back as it sent them."""
        for index, message in enumerate(messages):
            for call in message.get("tool_calls", []):
                sent = self._sent.get(call["id"])
                at = f"messages[{index}]"
                need(sent is not None, at, f"call {call['id']} was never made")
                was = sent or {}
                same = all(message.get(key) == was.get(key) for key in ("content", "tool_calls"))
                need(same, at, f"is not the message that was sent: {json.dumps(sent)}")

    def _fail(self, fails: dict[str, Any], body: Any) -> Refusal:
        wait = fails.get("retry_after")
        self._again = (body, time.monotonic() + (wait or 0))
        error = {"message": fails["message"], "type": fails["type"], "param": None, "code": None}
        headers = {"retry-after": str(wait)} if wait is not None else {}
        return Refusal(fails["status"], error, headers)

    def _say(self, turn: dict[str, Any], tools: list[dict[str, Any]]) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": turn.get("says")}
        self._ids = []
        offered = {tool["function"]["name"] for tool in tools}
        calls = []
        for call in turn.get("calls", []):
            if call["name"] not in offered and not call.get("invented"):
                self.refused.append(f"the script calls `{call['name']}`, offered are {offered}")
            text = call["arguments"]
            text = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            text = text.replace("$CALL_ID", self._call_id)
            made = {"name": call["name"], "arguments": text}
            self._ids.append(f"call_{uuid.uuid4().hex[:24]}")
            calls.append({"id": self._ids[-1], "type": "function", "function": made})
        if calls:
            message["tool_calls"] = calls
            if not turn.get("breaks"):
                self._sent |= dict.fromkeys(self._ids, message)
        finish = turn.get("finish") or ("tool_calls" if calls else "stop")
        return Answer(message, finish, turn.get("breaks", False))


def compare(text: Any, wanted: dict[str, Any], what: str) -> None:
    need(isinstance(text, str), "script", f"{what} is not there")
    for part in wanted.get("contains", []):
        need(part in text, "script", f"{what} lacks `{part}`: {text}")
    for part in wanted.get("lacks", []):
        need(part not in text, "script", f"{what} has `{part}`: {text}")

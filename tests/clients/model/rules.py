"""What a provider of the OpenAI chat completions API takes: a request's body in, the first breach out.

The rules are those of the published API reference and of the errors that the API gives; where servers
differ, the strictest one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}\Z")
DESCRIPTION = 1024
PARAMETERS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options",
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "seed", "stop", "user",
    "response_format", "reasoning_effort", "metadata", "store", "frequency_penalty",
    "presence_penalty", "logprobs", "service_tier",
}  # fmt: skip
MEMBERS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "annotations", "audio"},
    "tool": {"role", "content", "tool_call_id"},
}
# Of JSON Schema, what strict mode takes.
STRICT = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
    "$ref", "$defs", "definitions", "description", "title", "pattern", "format", "multipleOf",
    "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "minItems", "maxItems",
}  # fmt: skip


class Breach(Exception):
    """A rule that a request breaks."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(f"{param}: {message}")
        self.param = param
        self.message = message


def check(body: Any) -> None:
    """Raises the first breach of a request's body."""
    need(isinstance(body, dict), "", "the body must be an object")
    for key in body:
        need(key in PARAMETERS, key, "unknown parameter")
    need(isinstance(body.get("model"), str) and body["model"], "model", "you must give a model")
    need(body.get("n", 1) == 1, "n", "these scripts have one choice")
    need(isinstance(body.get("stream", False), bool), "stream", "must be a boolean")
    if "stream_options" in body:
        need(body.get("stream") is True, "stream_options", "only allowed when stream is set")
    for key in ("tool_choice", "parallel_tool_calls"):
        need(key not in body or "tools" in body, key, "only allowed when tools are given")
    if "tools" in body:
        check_tools(body["tools"])
    check_messages(body.get("messages"))


def check_tools(tools: Any) -> None:
    need(isinstance(tools, list) and tools, "tools", "must be an array with at least one element")
    need(len(tools) <= 128, "tools", f"at most 128 tools, not {len(tools)}")
    names = set()
    for index, tool in enumerate(tools):
        at = f"tools[{index}]"
        need(isinstance(tool, dict) and set(tool) == {"type", "function"}, at, "type and function")
        need(tool["type"] == "function", f"{at}.type", "must be `function`")
        function, at = tool["function"], f"{at}.function"
        need(isinstance(function, dict), at, "must be an object")
        unknown = set(function) - {"name", "description", "parameters", "strict"}
        need(not unknown, at, f"unknown members {sorted(unknown)}")
        name = function.get("name")
        need(isinstance(name, str) and NAME.match(name), f"{at}.name", f"`{name}` is no name")
        need(name not in names, f"{at}.name", f"`{name}` is there twice")
        names.add(name)
        description = function.get("description", "")
        need(isinstance(description, str), f"{at}.description", "must be a string")
        need(len(description) <= DESCRIPTION, f"{at}.description", f"over {DESCRIPTION} characters")
        check_parameters(function.get("parameters", {"type": "object", "properties": {}}), at)
        if function.get("strict"):
            check_strict(function["parameters"], f"{at}.parameters")


def check_parameters(schema: Any, at: str) -> None:
    at = f"{at}.parameters"
    need(isinstance(schema, dict), at, "must be an object")
    need(schema.get("type") == "object", at, "the type must be `object`")
    for word in ("oneOf", "anyOf", "allOf", "enum", "not"):
        need(word not in schema, at, f"`{word}` is not allowed at the top")
    need(isinstance(schema.get("properties", {}), dict), at, "properties must be an object")
    for place, part in parts(schema, at):
        kinds = part.get("type")
        array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
        need(not array or "items" in part, place, "array schema missing items")


def check_strict(schema: Any, at: str) -> None:
    for place, part in parts(schema, at):
        unknown = set(part) - STRICT
        need(not unknown, place, f"{sorted(unknown)} not permitted in strict mode")
        if part.get("type") == "object" or "properties" in part:
            need(part.get("additionalProperties") is False, place, "additionalProperties: false")
            required = part.get("required", [])
            need(set(required) == set(part.get("properties", {})), place, "all must be required")


def parts(schema: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and every schema inside it."""
    waiting = [(at, schema)]
    while waiting:
        at, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        yield at, part
        for key in ("properties", "$defs", "definitions", "patternProperties"):
            waiting += [(f"{at}.{key}.{name}", one) for name, one in part.get(key, {}).items()]
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            waiting += [(f"{at}.{key}[{i}]", one) for i, one in enumerate(part.get(key, []))]
        for key in ("items", "additionalProperties", "not"):
            waiting.append((f"{at}.{key}", part.get(key)))


def check_messages(messages: Any) -> None:
    need(isinstance(messages, list) and messages, "messages", "must have at least one message")
    # Ids of calls whose answers have to come next, and where they were asked for.
    open_ids: dict[str, str] = {}
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        need(isinstance(message, dict), at, "must be an object")
        role = message.get("role")
        need(role in MEMBERS, f"{at}.role", f"`{role}` is no role")
        unknown = set(message) - MEMBERS[role]
        need(not unknown, at, f"unknown members {sorted(unknown)} for role `{role}`")
        if role == "tool":
            answered = message.get("tool_call_id")
            need(
                open_ids.pop(answered, None) is not None,
                f"{at}.tool_call_id",
                f"`{answered}` answers no call of the assistant message before it, or one twice",
            )
        else:
            need(not open_ids, at, f"comes before the answers to calls {list(open_ids)}")
        check_content(message, role, at)
        if "tool_calls" in message:
            open_ids = check_calls(message["tool_calls"], f"{at}.tool_calls")
    need(not open_ids, "messages", f"calls without an answer: {list(open_ids)}")


def check_content(message: dict[str, Any], role: str, at: str) -> None:
    content = message.get("content")
    if role == "assistant" and content is None:
        need(message.get("tool_calls"), f"{at}.content", "needed where there are no tool_calls")
        return
    kinds = {"text", "image_url", "input_audio", "file"} if role == "user" else {"text"}
    if isinstance(content, list):
        need(content, f"{at}.content", "an empty array")
        for part in content:
            good = isinstance(part, dict) and part.get("type") in kinds
            need(good, f"{at}.content", f"parts must be of {sorted(kinds)}")
    else:
        need(isinstance(content, str), f"{at}.content", "must be a string or an array of parts")


def check_calls(calls: Any, at: str) -> dict[str, str]:
    need(isinstance(calls, list) and calls, at, "must be an array with at least one element")
    ids: dict[str, str] = {}
    for index, call in enumerate(calls):
        here = f"{at}[{index}]"
        good = isinstance(call, dict) and set(call) == {"id", "type", "function"}
        need(good, here, "must have id, type and function")
        need(isinstance(call["id"], str) and call["id"], f"{here}.id", "must be a string")
        need(call["id"] not in ids, f"{here}.id", f"`{call['id']}` is there twice")
        need(call["type"] == "function", f"{here}.type", "must be `function`")
        function = call["function"]
        good = isinstance(function, dict) and set(function) == {"name", "arguments"}
        need(good, f"{here}.function", "must have name and arguments")
        name, arguments = function["name"], function["arguments"]
        need(isinstance(name, str) and NAME.match(name), f"{here}.function.name", "is no name")
        need(isinstance(arguments, str), f"{here}.function.arguments", "must be a string")
        ids[call["id"]] = here
    return ids


def need(good: Any, param: str, message: str) -> None:
    if not good:
        raise Breach(param, message)

"""A model for the daemon's own reasoning, over HTTP as the OpenAI chat completions API does.

    reasoner.py

Prints one line with its address and serves until it is ended. It keeps nothing: what it says follows from
what it is sent. Asked to `be silent`, it says nothing for ever; to `erase note 7`, it calls `notes.erase`
once; else it counts the words of `one two three` with `text.stats`, and cites the count.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_BODY = 16 << 20


def choice(body: dict[str, Any]) -> dict[str, Any]:
    """What the model says next."""
    messages = body["messages"]
    asked = json.dumps(messages, ensure_ascii=False)
    if not any(message["role"] == "tool" for message in messages):
        if "rase note 7" in asked:
            return called("notes.erase", {"id": 7})
        return called("text.stats", {"text": "one two three"})
    # Its orders speak of labels too, which stand for nothing.
    asked = json.dumps([one for one in messages if one["role"] != "system"], ensure_ascii=False)
    label = max((int(found) for found in re.findall(r"E(\d{1,2})\b", asked)), default=1)
    message = {"role": "assistant", "content": f"It has 3 words [E{label}]."}
    return {"index": 0, "message": message, "finish_reason": "stop"}


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": tool.replace(".", "_dot_"), "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": "call_0", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"index": 0, "message": message, "finish_reason": "tool_calls"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet, so that nothing waits for its acknowledgement.
    wbufsize = -1

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(min(size, MAX_BODY)))
        if "e silent" in json.dumps(body["messages"]):
            threading.Event().wait()
        head = {"id": "r", "model": body["model"]}
        made = choice(body)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        if body.get("stream"):
            delta = {"index": 0, "delta": made["message"], "finish_reason": None}
            last = {"index": 0, "delta": {}, "finish_reason": made["finish_reason"]}
            chunk = head | {"object": "chat.completion.chunk"}
            parts = [
                chunk | {"choices": [delta]},
                chunk | {"choices": [last]},
                chunk | {"choices": [], "usage": usage},
            ]
            text = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
            self._send("text/event-stream", text)
        else:
            whole = head | {"object": "chat.completion", "choices": [made], "usage": usage}
            self._send("application/json", json.dumps(whole))

    def _send(self, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nothing: a check that fails says why itself."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

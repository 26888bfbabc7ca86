"""A model that answers by script, over HTTP as the OpenAI chat completions API does.

    serve.py [--port PORT] [FOLDER]

Prints one line with its address, for example http://127.0.0.1:40123, and serves until it is ended.
The base URL of an agent is ADDRESS/SCRIPT/PLAY/v1: SCRIPT is a file of the folder without `.json`,
PLAY any word; each begins the script anew. GET ADDRESS/SCRIPT/PLAY tells how far it went and what was
refused. README.md in the scripts' folder describes a script.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import threading
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from play import Answer, Play, Refusal

MAX_BODY = 16 << 20


class Plays:
    """All playings, by script and word."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._scripts = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
        self._plays: dict[tuple[str, str], Play] = {}
        self.lock = threading.Lock()

    def get(self, script: str, word: str) -> Play | None:
        if script not in self._scripts:
            return None
        return self._plays.setdefault((script, word), Play(self._scripts[script]))


class Handler(BaseHTTPRequestHandler):
    plays: Plays
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = self.path.strip("/").split("/")
        with self.plays.lock:
            play = self.plays.get(*parts) if len(parts) == 2 else None
            if play is None:
                self._send(404, {"error": {"message": f"nothing at {self.path}"}})
                return
            told = {"turns": len(play.turns), "played": play.played, "refused": play.refused}
        self._send(200, told)

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        text = self.rfile.read(min(size, MAX_BODY))
        script, _, rest = self.path.lstrip("/").partition("/")
        word, _, method = rest.partition("/")
        with self.plays.lock:
            play = self.plays.get(script, word) if method == "v1/chat/completions" else None
            if play is None:
                self._send(404, {"error": {"message": f"nothing at {self.path}"}})
                return
            try:
                body = json.loads(text)
                answer = play.answer(self.headers.get("authorization", ""), body)
            except ValueError as error:
                play.refused.append(f"the body is no JSON: {error}")
                self._send(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
                return
            except Refusal as refusal:
                self._send(refusal.status, {"error": refusal.error}, refusal.headers)
                return
        head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": body["model"],
        }
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            self._stream(head, answer, usage)
        else:
            choice = {
                "index": 0,
                "message": answer.message | {"refusal": None},
                "logprobs": None,
                "finish_reason": answer.finish,
            }
            whole = head | {"object": "chat.completion", "choices": [choice], "usage": USAGE}
            self._send(200, whole, breaks=answer.breaks)

    def _send(
        self,
        status: int,
        body: dict[str, Any],
        headers: dict[str, str] | None = None,
        breaks: bool = False,
    ) -> None:
        text = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if breaks else text)
        self.close_connection = self.close_connection or breaks

    def _stream(self, head: dict[str, Any], answer: Answer, usage: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        text = b""
        for delta, finish in deltas(answer):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            text += event(head | {"object": "chat.completion.chunk", "choices": [choice]})
        if answer.breaks:
            text = text[: len(text) // 2]
        else:
            if usage:
                last = {"object": "chat.completion.chunk", "choices": [], "usage": USAGE}
                text += event(head | last)
            text += b"data: [DONE]\n\n"
        # Writes that end anywhere, also inside a character.
        for start in range(0, len(text), 61):
            self.wfile.write(text[start : start + 61])
            self.wfile.flush()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def deltas(answer: Answer) -> Iterator[tuple[dict[str, Any], str | None]]:
    """The message in pieces; those of several calls are interleaved."""
    message = answer.message
    yield {"role": "assistant", "content": None if message["content"] is None else ""}, None
    for text in pieces(message["content"] or ""):
        yield {"content": text}, None
    running = []
    for index, call in enumerate(message.get("tool_calls", [])):
        first = call | {"function": {"name": call["function"]["name"], "arguments": ""}}
        yield {"tool_calls": [{"index": index} | first]}, None
        running.append((index, pieces(call["function"]["arguments"])))
    while running:
        index, rest = running.pop(0)
        if piece := next(rest, None):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None
            running.append((index, rest))
    yield {}, answer.finish


def pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), 7):
        yield text[start : start + 7]


def main() -> None:
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="A model that answers by script.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=here / "scripts")
    chosen = parser.parse_args()
    Handler.plays = Plays(chosen.folder)
    server = ThreadingHTTPServer(("127.0.0.1", chosen.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

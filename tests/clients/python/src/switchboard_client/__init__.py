"""A typed client of Switchboard, which checks, decides and runs an agent's tool calls.

    with Client("unix:/run/switchboard/switchboard.sock") as client:
        reply = client.call("text.stats", {"text": "one two"})
        print(reply.data if reply.ok else reply.error)

A reply says how a call went, also when it was refused or its tool failed: a model reads it. What the
program itself has to handle (no connection, too many calls, a deadline) is a `CallFailed`.
"""

from .aio import AsyncClient
from .approvals import Approval
from .batches import Batch, Entry, ref
from .channel import Tls
from .client import Client, Stream
from .core import CallOptions, Upload
from .errors import CallFailed, Violation
from .events import Accepted, Event, Output, Started, Waiting
from .exact import Json, parse, render
from .native import NativeAnswer, NativeCall, Provider
from .replies import File, Flag, Metadata, Origin, Repair, Reply, ToolError
from .results import Content, LinePage, Page
from .tools import (
    Detail,
    Dialect,
    Files,
    Give,
    Hit,
    HitList,
    Loss,
    Match,
    Take,
    Tool,
    ToolList,
    Verdict,
)
from .views import Handle, Rest, View

__all__ = [
    "Accepted",
    "Approval",
    "AsyncClient",
    "Batch",
    "CallFailed",
    "CallOptions",
    "Client",
    "Content",
    "Detail",
    "Dialect",
    "Entry",
    "Event",
    "File",
    "Files",
    "Flag",
    "Give",
    "Handle",
    "Hit",
    "HitList",
    "Json",
    "LinePage",
    "Loss",
    "Match",
    "Metadata",
    "NativeAnswer",
    "NativeCall",
    "Origin",
    "Output",
    "Page",
    "Provider",
    "Repair",
    "Reply",
    "Rest",
    "Started",
    "Stream",
    "Take",
    "Tls",
    "Tool",
    "ToolError",
    "ToolList",
    "Upload",
    "Verdict",
    "View",
    "Violation",
    "Waiting",
    "parse",
    "ref",
    "render",
]

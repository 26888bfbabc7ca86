"""A typed client of Switchboard, which checks, decides and runs an agent's tool calls.

    with Client("unix:/run/switchboard/switchboard.sock") as client:
        reply = client.call("text.stats", {"text": "one two"})
        print(reply.data if reply.ok else reply.error)

A reply says how a call went, also when it was refused or its tool failed: a model reads it. What the
program itself has to handle (no connection, too many calls, a deadline) is a `CallFailed`.
"""

from .aio import AsyncClient
from .aiomemories import AsyncMemory
from .approvals import Approval
from .batches import Batch, Entry, ref
from .channel import Tls
from .client import Client, Stream
from .core import CallOptions, Upload
from .errors import CallFailed, Violation
from .evidence import (
    Assembled,
    Consolidated,
    Decided,
    Evidence,
    Explained,
    Recalled,
    Receipt,
    Refusal,
    Review,
    Stats,
    Unit,
    UnitHistory,
    WhyNot,
    Written,
)
from .events import Accepted, Event, Output, Started, Waiting
from .exact import Json, parse, render
from .memories import Memory
from .memory import (
    Area,
    Draft,
    Entity,
    Fact,
    Filter,
    Image,
    Nearest,
    Picture,
    Place,
    Table,
    Within,
)
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
    "Area",
    "Assembled",
    "AsyncClient",
    "AsyncMemory",
    "Batch",
    "CallFailed",
    "CallOptions",
    "Client",
    "Consolidated",
    "Content",
    "Decided",
    "Detail",
    "Dialect",
    "Draft",
    "Entity",
    "Entry",
    "Event",
    "Evidence",
    "Explained",
    "Fact",
    "File",
    "Files",
    "Filter",
    "Flag",
    "Give",
    "Handle",
    "Hit",
    "HitList",
    "Image",
    "Json",
    "LinePage",
    "Loss",
    "Match",
    "Memory",
    "Metadata",
    "NativeAnswer",
    "NativeCall",
    "Nearest",
    "Origin",
    "Output",
    "Page",
    "Picture",
    "Place",
    "Provider",
    "Recalled",
    "Receipt",
    "Refusal",
    "Repair",
    "Reply",
    "Rest",
    "Review",
    "Started",
    "Stats",
    "Stream",
    "Table",
    "Take",
    "Tls",
    "Tool",
    "ToolError",
    "ToolList",
    "Unit",
    "UnitHistory",
    "Upload",
    "Verdict",
    "View",
    "Violation",
    "Waiting",
    "WhyNot",
    "Within",
    "Written",
    "parse",
    "ref",
    "render",
]

"""A typed client of Switchboard, which checks, decides and runs an agent's tool calls.

    with Client("unix:/run/switchboard/switchboard.sock") as client:
        reply = client.call("text.stats", {"text": "one two"})
        print(reply.data if reply.ok else reply.error)

A reply says how a call went, also when it was refused or its tool failed: a model reads it. What the
program itself has to handle (no connection, too many calls, a deadline) is a `CallFailed`.
"""

from . import reason
from .aio import AsyncClient
from .aiomemories import AsyncMemory
from .aioruns import AsyncReason, AsyncRun
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
from .reason import RunEvent, RunSummary, Trace
from .results import Content, LinePage, Page
from .runs import Reason, Run
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
    "AsyncReason",
    "AsyncRun",
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
    "Reason",
    "Recalled",
    "Receipt",
    "Refusal",
    "Repair",
    "Reply",
    "Rest",
    "Review",
    "Run",
    "RunEvent",
    "RunSummary",
    "Started",
    "Stats",
    "Stream",
    "Table",
    "Take",
    "Tls",
    "Tool",
    "ToolError",
    "ToolList",
    "Trace",
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
    "reason",
    "ref",
    "render",
]

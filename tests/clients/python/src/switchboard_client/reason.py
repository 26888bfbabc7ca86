"""What goes to the reasoning and what comes of it: questions, and the events of a run. What a tool or the
memory gave stands in them as information, never as an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias, TypedDict, cast, get_args

from switchboard.reason.v1 import reason_pb2 as pb

from .evidence import time
from .exact import Json, maybe
from .memory import When, time_to_wire, word
from .options import check_choice, check_options

RunState: TypeAlias = Literal["running", "waiting", "answered", "partial", "failed", "cancelled"]


class RunOptions(TypedDict, total=False):
    """What a run can have beside its question; the proto file says more about each. Any other name is a
    TypeError."""

    agent: str
    conversation_id: str
    previous: str
    """The run that this question follows up."""
    as_of: When
    collections: Sequence[str]
    steps: int
    """Questions to the reasoning model, at most; zero is a limit like others."""
    tokens: int
    money: Decimal | str
    wall: timedelta
    cancel_on_drop: bool
    """Ends the run when its stream is left, or its timeout passes; else the run goes on."""
    no_cache: bool


@dataclass(frozen=True)
class Limits:
    """What a run may take; None for what the daemon does not bound."""

    steps: int | None
    tokens: int | None
    money: Decimal | None
    wall: timedelta | None


@dataclass(frozen=True)
class Usage:
    """What models took."""

    input_tokens: int
    output_tokens: int
    money: Decimal
    estimated: bool


@dataclass(frozen=True)
class Attempt:
    """One attempt at an endpoint."""

    endpoint: str
    outcome: str
    status: int
    part: str
    """The part of what was sent that it was refused for."""
    message: str
    waited_ms: int
    took_ms: int


@dataclass(frozen=True)
class Asked:
    """One question to a model."""

    endpoint: str
    model: str
    usage: Usage
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True)
class Item:
    """One piece of evidence."""

    label: str
    kind: str
    source: str
    name: str
    text: str
    score: float
    trust: int
    untrusted: bool


@dataclass(frozen=True)
class Started:
    question: str
    agent: str
    limits: Limits
    digest: str


@dataclass(frozen=True)
class Routed:
    route: str
    rewritten: str
    rule: str
    why: str
    asked: Asked | None


@dataclass(frozen=True)
class Recalled:
    question: str
    items: tuple[Item, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Thought:
    text: str
    asked: Asked | None
    remarks: tuple[str, ...]
    answer: Json
    calls: int


@dataclass(frozen=True)
class Rejected:
    """What a model said did not hold, and why."""

    what: str
    attempt: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Action:
    """A tool call that is about to be made."""

    call_id: str
    tool: str
    arguments_json: str
    """As the model wrote it, which need not be JSON."""
    approval_id: str


@dataclass(frozen=True)
class Waiting:
    """A call waits for a person."""

    call_id: str
    approval_id: str


@dataclass(frozen=True)
class Observation:
    call_id: str
    tool: str
    success: bool
    code: str
    told: Json
    item: Item | None


@dataclass(frozen=True)
class Step:
    """A step of the trace."""

    id: str
    kind: str
    evidence: tuple[str, ...]
    text: str
    confidence: float
    whole: Json


@dataclass(frozen=True)
class Planned:
    plan: Json
    refusals: tuple[str, ...]
    asked: Asked | None


@dataclass(frozen=True)
class Message:
    """From one agent to another; with refusals it did not travel on."""

    sender: str
    to: str
    message: Json
    refusals: tuple[str, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Ruling:
    ruling: Json
    asked: Asked | None


@dataclass(frozen=True)
class Resumed:
    why: str


@dataclass(frozen=True)
class Decision:
    value: str
    step: str
    holds: bool
    rule: str


@dataclass(frozen=True)
class Answer:
    """The end of a run that found one."""

    text: str
    evidence: tuple[str, ...]
    decision: Decision | None
    missing: tuple[str, ...]
    confidence: float
    cached: bool
    usage: Usage
    unsupported: tuple[str, ...]
    free: bool
    cache_age_ms: int
    cached_question: str


@dataclass(frozen=True)
class Partial:
    """The end of a run at a limit: what is known (labels with their words), and what is missing."""

    limit: str
    text: str
    known: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    usage: Usage


@dataclass(frozen=True)
class Failed:
    """The end of a run without an answer."""

    code: str
    message: str
    usage: Usage


@dataclass(frozen=True)
class Cancelled:
    """The end of a run that its caller ended."""


End: TypeAlias = Answer | Partial | Failed | Cancelled
What: TypeAlias = (
    Started
    | Routed
    | Recalled
    | Thought
    | Rejected
    | Action
    | Waiting
    | Observation
    | Step
    | Planned
    | Message
    | Ruling
    | Resumed
    | End
)


@dataclass(frozen=True)
class RunEvent:
    """One event of a run; `what` is one of the classes of this module."""

    seq: int
    run_id: str
    step: int
    time: datetime | None
    task: str
    what: What

    @property
    def end(self) -> End | None:
        """The same as `what`, where nothing comes after it."""
        return self.what if isinstance(self.what, get_args(End)) else None

    @staticmethod
    def from_wire(wire: pb.RunEvent) -> RunEvent | None:
        """None for a kind that this version does not know."""
        kind = wire.WhichOneof("event")
        read = KINDS.get(kind) if kind else None
        if read is None:
            return None
        return RunEvent(
            wire.seq, wire.run_id, wire.step, time(wire.time), wire.task, read(wire)
        )


@dataclass(frozen=True)
class Trace:
    """The evidence of a run, as far as it has come. `switchboard trace verify` checks `text`."""

    run_id: str
    state: RunState
    text: str
    """One line of JSON, as the daemon wrote it."""

    @property
    def data(self) -> Json:
        return maybe(self.text)

    @staticmethod
    def from_wire(wire: pb.GetTraceResponse) -> Trace:
        return Trace(wire.run_id, state(wire.state), wire.trace_json)


@dataclass(frozen=True)
class RunSummary:
    """A run in short."""

    run_id: str
    state: RunState
    question: str
    agent: str
    conversation_id: str
    started: datetime | None
    ended: datetime | None
    last_seq: int
    steps: int
    usage: Usage
    code: str

    @staticmethod
    def from_wire(wire: pb.RunSummary) -> RunSummary:
        return RunSummary(
            run_id=wire.run_id,
            state=state(wire.state),
            question=wire.question,
            agent=wire.agent,
            conversation_id=wire.conversation_id,
            started=time(wire.started),
            ended=time(wire.ended),
            last_seq=wire.last_seq,
            steps=wire.steps,
            usage=_usage(wire.usage),
            code=wire.code,
        )


def run_request(question: str, more: RunOptions) -> pb.RunRequest:
    check_options("a run", more, RunOptions.__annotations__, ["timeout"])
    request = pb.RunRequest(
        question=question,
        agent=more.get("agent", ""),
        conversation_id=more.get("conversation_id", ""),
        previous_run_id=more.get("previous", ""),
        as_of=time_to_wire(more.get("as_of", "")),
        collections=more.get("collections", ()),
        cancel_on_drop=more.get("cancel_on_drop", False),
        no_cache=more.get("no_cache", False),
    )
    # Zero is a limit, and none is not.
    if "steps" in more:
        request.limits.steps = more["steps"]
    if "tokens" in more:
        request.limits.tokens = more["tokens"]
    if "money" in more:
        request.limits.money = format(Decimal(more["money"]), "f")
    if "wall" in more:
        request.limits.wall_ms = round(more["wall"] / timedelta(milliseconds=1))
    return request


def list_request(
    states: Iterable[RunState], conversation_id: str, page_size: int
) -> pb.ListRunsRequest:
    chosen = [check_choice("states", one, get_args(RunState)).upper() for one in states]
    return pb.ListRunsRequest(
        states=[pb.State.Value(f"STATE_{one}") for one in chosen],
        conversation_id=conversation_id,
        page_size=page_size,
    )


def state(wire: pb.State.ValueType) -> RunState:
    return cast(RunState, word(pb.State.Name(wire), "STATE"))


def _usage(wire: pb.Usage) -> Usage:
    money = Decimal(wire.money or 0)
    return Usage(wire.input_tokens, wire.output_tokens, money, wire.estimated)


def _asked(wire: pb.Asked) -> Asked:
    attempts = tuple(
        Attempt(
            one.endpoint,
            one.outcome,
            one.status,
            one.part,
            one.message,
            one.waited_ms,
            one.took_ms,
        )
        for one in wire.attempts
    )
    return Asked(wire.endpoint, wire.model, _usage(wire.usage), attempts)


def _item(wire: pb.Item) -> Item:
    return Item(
        wire.label,
        wire.kind,
        wire.source,
        wire.name,
        wire.text,
        wire.score,
        wire.trust,
        wire.untrusted,
    )


def _limits(wire: pb.Limits) -> Limits:
    def given(name: Literal["steps", "tokens", "money", "wall_ms"]) -> bool:
        return wire.HasField(name)

    return Limits(
        steps=wire.steps if given("steps") else None,
        tokens=wire.tokens if given("tokens") else None,
        money=Decimal(wire.money) if given("money") else None,
        wall=timedelta(milliseconds=wire.wall_ms) if given("wall_ms") else None,
    )


def _started(wire: pb.RunEvent) -> What:
    one = wire.started
    return Started(one.question, one.agent, _limits(one.limits), one.digest)


def _routed(wire: pb.RunEvent) -> What:
    one = wire.routed
    asked = _asked(one.asked) if one.HasField("asked") else None
    return Routed(one.route, one.rewritten, one.rule, one.why, asked)


def _recalled(wire: pb.RunEvent) -> What:
    one = wire.recalled
    return Recalled(one.question, tuple(map(_item, one.items)), tuple(one.remarks))


def _thought(wire: pb.RunEvent) -> What:
    one = wire.thought
    asked = _asked(one.asked) if one.HasField("asked") else None
    return Thought(one.text, asked, tuple(one.remarks), maybe(one.answer_json), one.calls)


def _rejected(wire: pb.RunEvent) -> What:
    return Rejected(wire.rejected.what, wire.rejected.attempt, tuple(wire.rejected.reasons))


def _action(wire: pb.RunEvent) -> What:
    one = wire.action
    return Action(one.call_id, one.tool, one.arguments_json, one.approval_id)


def _waiting(wire: pb.RunEvent) -> What:
    return Waiting(wire.waiting.call_id, wire.waiting.approval_id)


def _observation(wire: pb.RunEvent) -> What:
    one = wire.observation
    item = _item(one.item) if one.HasField("item") else None
    return Observation(one.call_id, one.tool, one.success, one.code, maybe(one.told_json), item)


def _step(wire: pb.RunEvent) -> What:
    one = wire.evidence
    evidence = tuple(one.evidence)
    return Step(one.id, one.kind, evidence, one.text, one.confidence, maybe(one.step_json))


def _planned(wire: pb.RunEvent) -> What:
    one = wire.planned
    asked = _asked(one.asked) if one.HasField("asked") else None
    return Planned(maybe(one.plan_json), tuple(one.refusals), asked)


def _message(wire: pb.RunEvent) -> What:
    one = wire.message
    # `from` is a word of the language.
    return Message(
        getattr(one, "from"),
        one.to,
        maybe(one.message_json),
        tuple(one.refusals),
        tuple(map(_item, one.items)),
    )


def _ruling(wire: pb.RunEvent) -> What:
    one = wire.ruling
    return Ruling(maybe(one.ruling_json), _asked(one.asked) if one.HasField("asked") else None)


def _answer(wire: pb.RunEvent) -> What:
    one, decision = wire.answer, None
    if one.HasField("decision"):
        made = one.decision
        decision = Decision(made.value, made.step, made.holds, made.rule)
    return Answer(
        text=one.text,
        evidence=tuple(one.evidence),
        decision=decision,
        missing=tuple(one.missing),
        confidence=one.confidence,
        cached=one.cached,
        usage=_usage(one.usage),
        unsupported=tuple(one.unsupported),
        free=one.free,
        cache_age_ms=one.cache_age_ms,
        cached_question=one.cached_question,
    )


def _partial(wire: pb.RunEvent) -> What:
    one = wire.partial
    known = tuple((each.label, each.text) for each in one.known)
    return Partial(one.limit, one.text, known, tuple(one.missing), _usage(one.usage))


def _failed(wire: pb.RunEvent) -> What:
    return Failed(wire.failed.code, wire.failed.message, _usage(wire.failed.usage))


KINDS: dict[str, Callable[[pb.RunEvent], What]] = {
    "started": _started,
    "routed": _routed,
    "recalled": _recalled,
    "thought": _thought,
    "rejected": _rejected,
    "action": _action,
    "waiting": _waiting,
    "observation": _observation,
    "evidence": _step,
    "planned": _planned,
    "message": _message,
    "ruling": _ruling,
    "resumed": lambda wire: Resumed(wire.resumed.why),
    "answer": _answer,
    "partial": _partial,
    "failed": _failed,
    "cancelled": lambda wire: Cancelled(),
}

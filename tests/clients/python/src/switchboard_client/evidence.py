"""What comes from the memory: receipts, evidence, contexts, reviews. What a unit says is content, never
an instruction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, cast

from switchboard.memory.v1 import memory_pb2 as pb

from .errors import Violation
from .exact import Json, maybe
from .memory import Draft, Entity, Origin, Sense, origin_from_wire, word

Stage: TypeAlias = Literal[
    "accepted", "stored", "unchanged", "outdated", "held", "quarantined", "refused"
]
UnitState: TypeAlias = Literal["active", "held", "quarantined", "rejected", "archived"]
Layer: TypeAlias = Literal["curated", "notes"]


@dataclass(frozen=True)
class Receipt:
    """What became of a write."""

    id: str
    stage: Stage
    unit_id: str
    evidence_id: str
    """Empty until it is stored."""
    remarks: tuple[str, ...]
    arrived: datetime | None
    changed: datetime | None

    @staticmethod
    def from_wire(wire: pb.Receipt) -> Receipt:
        return Receipt(
            id=wire.id,
            stage=cast(Stage, word(pb.Stage.Name(wire.stage), "STAGE")),
            unit_id=wire.unit_id,
            evidence_id=wire.evidence_id,
            remarks=tuple(wire.remarks),
            arrived=time(wire.arrived),
            changed=time(wire.changed),
        )


@dataclass(frozen=True)
class Refusal:
    """Why one draft of several was not taken."""

    reason: str
    message: str
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class Written:
    """What became of one draft of several: a receipt, or a refusal."""

    index: int
    receipt: Receipt | None
    refusal: Refusal | None

    @staticmethod
    def from_wire(wire: pb.RememberManyResponse.Written) -> Written:
        if wire.HasField("receipt"):
            return Written(wire.index, Receipt.from_wire(wire.receipt), None)
        said = wire.refusal
        wrong = tuple(Violation(one.field, one.description) for one in said.violations)
        return Written(wire.index, None, Refusal(said.reason, said.message, wrong))


@dataclass(frozen=True)
class Unit:
    """One recorded version of a unit."""

    unit_id: str
    evidence_id: str
    draft: Draft
    layer: Layer
    owner: str
    state: UnitState
    trust: int
    """0 to 100."""
    origin: Origin | None
    source_time: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    recorded: datetime | None
    ended: datetime | None
    ended_why: str
    ended_by: str
    digest: str
    remarks: tuple[str, ...]
    conflicts: tuple[str, ...]
    used: datetime | None
    uses: int

    @staticmethod
    def from_wire(wire: pb.Unit) -> Unit:
        return Unit(
            unit_id=wire.unit_id,
            evidence_id=wire.evidence_id,
            draft=Draft.from_wire(wire.draft),
            layer=cast(Layer, word(pb.Layer.Name(wire.layer), "LAYER")),
            owner=wire.owner,
            state=_state(wire.state),
            trust=wire.trust,
            origin=origin_from_wire(wire.origin),
            source_time=time(wire.source_time),
            valid_from=time(wire.valid_from),
            valid_to=time(wire.valid_to),
            recorded=time(wire.recorded),
            ended=time(wire.ended),
            ended_why=wire.ended_why,
            ended_by=wire.ended_by,
            digest=wire.digest,
            remarks=tuple(wire.remarks),
            conflicts=tuple(wire.conflicts),
            used=time(wire.used),
            uses=wire.uses,
        )


class UnitHistory(list[Unit]):
    """All versions of a unit, newest first; `unit` is the one that was asked for."""

    def __init__(self, wire: pb.GetResponse) -> None:
        super().__init__(map(Unit.from_wire, wire.history))
        self.unit = Unit.from_wire(wire.unit)


@dataclass(frozen=True)
class Score:
    """What one layer gave to a piece of evidence."""

    raw: float
    even: float
    adds: float
    rank: int


@dataclass(frozen=True)
class Evidence:
    """A unit that was found. Give what it says to a model in an envelope, as `context` does."""

    evidence_id: str
    unit: Unit
    passages: tuple[str, ...]
    """The pieces that were found, best first."""
    score: float
    scores: dict[Sense, Score]
    metres: float | None
    withheld: str
    """Why it is, or would be, withheld; empty for plain evidence."""

    @staticmethod
    def from_wire(wire: pb.Hit) -> Evidence:
        return Evidence(
            evidence_id=wire.evidence_id,
            unit=Unit.from_wire(wire.unit),
            passages=tuple(one.text for one in wire.passages),
            score=wire.score,
            scores=_scores(wire.scores),
            metres=wire.metres if wire.HasField("metres") else None,
            withheld=wire.withheld,
        )


class Recalled(list[Evidence]):
    """Evidence, best first."""

    def __init__(self, wire: pb.RecallResponse) -> None:
        super().__init__(map(Evidence.from_wire, wire.hits))
        self.failed = _failed(wire.failed)
        """Layers that did not work, and why; the others answered."""
        self.record_id = wire.record_id


@dataclass(frozen=True)
class Share:
    """A part of a context."""

    name: str
    text: str
    tokens: int
    granted: int
    wanted: int


@dataclass(frozen=True)
class Used:
    """What of a recalled unit is in a context."""

    evidence_id: str
    form: str
    enveloped: bool


@dataclass(frozen=True)
class Assembled:
    """A model's context within its budget."""

    text: str
    parts: tuple[Share, ...]
    tokens: int
    units: tuple[Used, ...]
    nonce: str
    failed: dict[Sense, str]
    record_id: str

    @staticmethod
    def from_wire(wire: pb.ContextResponse) -> Assembled:
        return Assembled(
            text=wire.text,
            parts=tuple(
                Share(one.name, one.text, one.tokens, one.granted, one.wanted) for one in wire.parts
            ),
            tokens=wire.tokens,
            units=tuple(Used(one.evidence_id, one.form, one.enveloped) for one in wire.units),
            nonce=wire.nonce,
            failed=_failed(wire.failed),
            record_id=wire.record_id,
        )


@dataclass(frozen=True)
class Vote:
    by: str
    approve: bool
    reason: str
    at: datetime | None


@dataclass(frozen=True)
class Review:
    """A version that waits for a reviewer."""

    unit: Unit
    rivals: tuple[Unit, ...]
    votes: tuple[Vote, ...]
    needed: int

    @staticmethod
    def from_wire(wire: pb.Review) -> Review:
        votes = (Vote(one.by, one.approve, one.reason, time(one.at)) for one in wire.votes)
        rivals = tuple(map(Unit.from_wire, wire.rivals))
        return Review(Unit.from_wire(wire.unit), rivals, tuple(votes), wire.needed)


@dataclass(frozen=True)
class Decided:
    """The state after a decision, and how many people must still agree."""

    state: UnitState
    missing: int

    @staticmethod
    def from_wire(wire: pb.DecideReviewResponse) -> Decided:
        return Decided(_state(wire.state), wire.missing)


@dataclass(frozen=True)
class WhyNot:
    """Of one version: its place in the answer, or why it has none."""

    evidence_id: str
    place: int | None
    why: tuple[str, ...]
    scores: dict[Sense, Score]


@dataclass(frozen=True)
class Explained:
    """How an answer comes about."""

    hits: tuple[Evidence, ...]
    missed: tuple[Evidence, ...]
    failed: dict[Sense, str]
    normal: str
    words: str
    rewritten: str
    entities: tuple[Entity, ...]
    micros: dict[Sense, int]
    """How long each layer took."""
    verdicts: tuple[WhyNot, ...]
    record_id: str

    @staticmethod
    def from_wire(wire: pb.ExplainResponse) -> Explained:
        read = wire.reading
        return Explained(
            hits=tuple(map(Evidence.from_wire, wire.hits)),
            missed=tuple(map(Evidence.from_wire, wire.missed)),
            failed=_failed(wire.failed),
            normal=read.normal,
            words=read.words,
            rewritten=read.rewritten,
            entities=tuple(Entity(one.kind, one.value) for one in read.entities),
            micros={_sense(one.sense): one.micros for one in read.times},
            verdicts=tuple(
                WhyNot(one.evidence_id, one.place or None, tuple(one.why), _scores(one.scores))
                for one in wire.verdicts
            ),
            record_id=wire.record_id,
        )


@dataclass(frozen=True)
class Run:
    """A run of upkeep."""

    id: str
    at: datetime | None
    summary: str
    changed: int
    undone: bool


@dataclass(frozen=True)
class Step:
    work: str
    evidence_id: str
    collection: str
    kept: str
    why: str


@dataclass(frozen=True)
class Consolidated:
    """What upkeep did, or would do."""

    runs: tuple[Run, ...]
    steps: tuple[Step, ...]
    more: int
    undone: int

    @staticmethod
    def from_wire(wire: pb.ConsolidateResponse) -> Consolidated:
        runs = (Run(one.id, time(one.at), one.summary, one.changed, one.undone) for one in wire.runs)
        steps = (
            Step(one.work, one.evidence_id, one.collection, one.kept, one.why) for one in wire.steps
        )
        return Consolidated(tuple(runs), tuple(steps), wire.more, wire.undone)


@dataclass(frozen=True)
class Collection:
    """A collection that the caller may use, and what it demands."""

    name: str
    description: str
    layer: Layer
    verbs: tuple[str, ...]
    declaration: Json


@dataclass(frozen=True)
class Stats:
    """What the memory holds of the caller's tenant."""

    store: str
    units: int
    versions: int
    chunks: int
    vectors: dict[str, int]
    """Chunks with a vector, by model."""
    held: int
    quarantined: int
    waiting: int
    embedder: str
    collections: tuple[Collection, ...]

    @staticmethod
    def from_wire(wire: pb.StatsResponse) -> Stats:
        return Stats(
            store=wire.store,
            units=wire.units,
            versions=wire.versions,
            chunks=wire.chunks,
            vectors={one.model: one.chunks for one in wire.vectors},
            held=wire.held,
            quarantined=wire.quarantined,
            waiting=wire.waiting,
            embedder=wire.embedder,
            collections=tuple(
                Collection(
                    name=one.name,
                    description=one.description,
                    layer=cast(Layer, word(pb.Layer.Name(one.layer), "LAYER")),
                    verbs=tuple(one.verbs),
                    declaration=maybe(one.declaration_json),
                )
                for one in wire.collections
            ),
        )


def time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _state(state: pb.State.ValueType) -> UnitState:
    return cast(UnitState, word(pb.State.Name(state), "STATE"))


def _sense(sense: pb.Sense.ValueType) -> Sense:
    return cast(Sense, word(pb.Sense.Name(sense), "SENSE"))


def _scores(wire: Iterable[pb.Score]) -> dict[Sense, Score]:
    return {_sense(one.sense): Score(one.raw, one.even, one.adds, one.rank) for one in wire}


def _failed(wire: Iterable[pb.FailedLayer]) -> dict[Sense, str]:
    return {_sense(one.sense): one.reason for one in wire}

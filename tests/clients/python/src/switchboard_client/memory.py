"""What goes to the memory: drafts of units, and questions. The proto file says more about each field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, TypeAlias, TypedDict, cast, get_args

from switchboard.memory.v1 import memory_pb2 as pb

from .exact import Json, maybe, render
from .options import check_choice, check_options

Kind: TypeAlias = Literal["knowledge", "case", "preference", "result"]
Origin: TypeAlias = Literal["curator", "person", "model", "tool", "file", "web"]
Sense: TypeAlias = Literal[
    "trigger", "entity", "words", "vector", "neighbour", "image", "place", "recency", "rerank", "rewrite"
]
Compare: TypeAlias = Literal["any", "none", "less", "at_most", "more", "at_least"]
When: TypeAlias = str | date | datetime
"""RFC 3339, or a date alone; without an offset it is in the zone of the collection, or the question."""


@dataclass(frozen=True)
class Entity:
    """A business entity: a customer, a contract, a part."""

    kind: str
    value: str


@dataclass(frozen=True)
class Fact:
    """A statement that can contradict another unit's."""

    entity: str
    attribute: str
    value: str
    unit: str = ""


@dataclass(frozen=True)
class Place:
    """Degrees on WGS 84, and what is there."""

    latitude: float
    longitude: float
    type: str = ""


@dataclass(frozen=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Image:
    """An image by reference, with what is known of it."""

    sha256: str
    uri: str = ""
    media_type: str = ""
    description: str = ""
    ocr_text: str = ""
    vector_model: str = ""
    vector: Sequence[float] = ()


@dataclass(frozen=True)
class Picture:
    """An image with its bytes, which the daemon reads, and does not keep."""

    content: bytes
    uri: str = ""
    vector_model: str = ""
    vector: Sequence[float] = ()


@dataclass(frozen=True)
class Draft:
    """A unit as it is written. A later draft with the same collection, source and source id takes the
    place of an earlier one; which is later, `source_time` decides."""

    collection: str
    source: str
    source_id: str
    kind: Kind
    text: str = ""
    value: str = ""
    key: str = ""
    triggers: Sequence[str] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    source_time: When = ""
    valid_from: When = ""
    valid_to: When = ""
    """Exclusive; a date alone still counts whole."""
    origin: Origin | None = None
    entities: Sequence[Entity] = ()
    facts: Sequence[Fact] = ()
    place: Place | None = None
    images: Sequence[Image] = ()
    tables: Sequence[Table] = ()
    group: str = ""
    position: int | None = None
    speaker: str = ""
    derived_from: Sequence[str] = ()
    supersedes: str = ""

    def to_wire(self) -> pb.Draft:
        return pb.Draft(
            collection=self.collection,
            source=self.source,
            source_id=self.source_id,
            source_time=time_to_wire(self.source_time),
            kind=kind_to_wire(self.kind),
            origin=origin_to_wire(self.origin),
            key=self.key,
            triggers=self.triggers,
            text=self.text,
            value=self.value,
            metadata_json=render(dict(self.metadata)) if self.metadata else "",
            valid_from=time_to_wire(self.valid_from),
            valid_to=time_to_wire(self.valid_to),
            entities=entities_to_wire(self.entities),
            facts=[pb.Fact(**vars(one)) for one in self.facts],
            place=None if self.place is None else pb.Place(**vars(self.place)),
            images=[pb.Image(**vars(one)) for one in self.images],
            tables=[
                pb.Table(
                    caption=one.caption,
                    columns=one.columns,
                    rows=[pb.Table.Row(cells=cells) for cells in one.rows],
                )
                for one in self.tables
            ],
            group=self.group,
            position=self.position,
            speaker=self.speaker,
            derived_from=self.derived_from,
            supersedes=self.supersedes,
        )

    @staticmethod
    def from_wire(wire: pb.Draft) -> Draft:
        place = wire.place
        return Draft(
            collection=wire.collection,
            source=wire.source,
            source_id=wire.source_id,
            kind=cast(Kind, word(pb.Kind.Name(wire.kind), "KIND")),
            text=wire.text,
            value=wire.value,
            key=wire.key,
            triggers=tuple(wire.triggers),
            metadata=cast(dict[str, Json], maybe(wire.metadata_json) or {}),
            source_time=wire.source_time,
            valid_from=wire.valid_from,
            valid_to=wire.valid_to,
            origin=origin_from_wire(wire.origin),
            entities=tuple(Entity(one.kind, one.value) for one in wire.entities),
            facts=tuple(Fact(one.entity, one.attribute, one.value, one.unit) for one in wire.facts),
            place=Place(place.latitude, place.longitude, place.type)
            if wire.HasField("place")
            else None,
            images=tuple(
                Image(
                    one.sha256,
                    one.uri,
                    one.media_type,
                    one.description,
                    one.ocr_text,
                    one.vector_model,
                    tuple(one.vector),
                )
                for one in wire.images
            ),
            tables=tuple(
                Table(tuple(one.columns), tuple(tuple(row.cells) for row in one.rows), one.caption)
                for one in wire.tables
            ),
            group=wire.group,
            position=wire.position if wire.HasField("position") else None,
            speaker=wire.speaker,
            derived_from=tuple(wire.derived_from),
            supersedes=wire.supersedes,
        )


@dataclass(frozen=True)
class Filter:
    """A condition on metadata, or on source, source_id, group, kind or origin."""

    field: str
    compare: Compare
    values: Sequence[object]


@dataclass(frozen=True)
class Within:
    """At most so many metres away."""

    latitude: float
    longitude: float
    metres: float
    types: Sequence[str] = ()


@dataclass(frozen=True)
class Area:
    """Inside a closed ring of latitudes and longitudes."""

    ring: Sequence[tuple[float, float]]
    types: Sequence[str] = ()


@dataclass(frozen=True)
class Nearest:
    """The nearest rank first."""

    latitude: float
    longitude: float
    types: Sequence[str] = ()


class Asking(TypedDict, total=False):
    """What a question can have beside its text. Any other name is a TypeError."""

    conversation: Sequence[str]
    entities: Sequence[Entity]
    collections: Sequence[str]
    top_k: int
    threshold: float
    as_of: When
    """What does not hold then does not come back; now when left out."""
    known_at: When
    """What was known when; now when left out."""
    time_zone: str
    kinds: Sequence[Kind]
    filters: Sequence[Filter]
    spot: Within | Area
    nearest: Nearest
    image: tuple[str, Sequence[float]]
    """Model and vector of an image."""
    held: bool
    """Also what waits for a reviewer; it is marked."""
    archived: bool
    without: Sequence[Sense]


def question(text: str, asking: Asking) -> pb.Question:
    check_options("a question", asking, Asking.__annotations__, ["timeout", "after"])
    asked = pb.Question(
        text=text,
        conversation=asking.get("conversation", ()),
        entities=entities_to_wire(asking.get("entities", ())),
        collections=asking.get("collections", ()),
        top_k=asking.get("top_k", 0),
        threshold=asking.get("threshold"),
        as_of=time_to_wire(asking.get("as_of", "")),
        known_at=time_to_wire(asking.get("known_at", "")),
        time_zone=asking.get("time_zone", ""),
        kinds=[kind_to_wire(kind) for kind in asking.get("kinds", ())],
        filters=filters_to_wire(asking.get("filters", ())),
        spot=spot_to_wire(asking.get("spot")),
        held=asking.get("held", False),
        archived=asking.get("archived", False),
        without=[
            pb.Sense.Value(f"SENSE_{check_choice('without', one, get_args(Sense)).upper()}")
            for one in asking.get("without", ())
        ],
    )
    if (near := asking.get("nearest")) is not None:
        point = pb.Point(latitude=near.latitude, longitude=near.longitude)
        asked.nearest.CopyFrom(pb.Nearest(point=point, types=near.types))
    if (image := asking.get("image")) is not None:
        asked.image.CopyFrom(pb.Question.ImageVector(model=image[0], vector=image[1]))
    return asked


def remember_request(draft: Draft, pictures: Iterable[Picture], wait: bool) -> pb.RememberRequest:
    return pb.RememberRequest(
        draft=draft.to_wire(), images=pictures_to_wire(pictures), wait=wait
    )


def pictures_to_wire(pictures: Iterable[Picture]) -> list[pb.ImageFile]:
    return [pb.ImageFile(**vars(one)) for one in pictures]


def entities_to_wire(entities: Iterable[Entity]) -> list[pb.Entity]:
    return [pb.Entity(kind=one.kind, value=one.value) for one in entities]


def filters_to_wire(filters: Iterable[Filter]) -> list[pb.Filter]:
    def compare(one: Filter) -> pb.Filter.Compare.ValueType:
        chosen = check_choice("compare", one.compare, get_args(Compare))
        return pb.Filter.Compare.Value(f"COMPARE_{chosen.upper()}")

    return [
        pb.Filter(
            field=one.field,
            compare=compare(one),
            values_json=[render(value) for value in one.values],
        )
        for one in filters
    ]


def spot_to_wire(spot: Within | Area | None) -> pb.Spot | None:
    if isinstance(spot, Within):
        center = pb.Point(latitude=spot.latitude, longitude=spot.longitude)
        within = pb.Spot.Within(center=center, metres=spot.metres)
        return pb.Spot(within=within, types=spot.types)
    if isinstance(spot, Area):
        ring = [pb.Point(latitude=north, longitude=east) for north, east in spot.ring]
        return pb.Spot(area=pb.Spot.Area(ring=ring), types=spot.types)
    return None


def kind_to_wire(kind: Kind) -> pb.Kind.ValueType:
    return pb.Kind.Value(f"KIND_{check_choice('kind', kind, get_args(Kind)).upper()}")


def origin_to_wire(origin: Origin | None) -> pb.Origin.ValueType:
    if origin is None:
        return pb.ORIGIN_UNSPECIFIED
    return pb.Origin.Value(f"ORIGIN_{check_choice('origin', origin, get_args(Origin)).upper()}")


def origin_from_wire(origin: pb.Origin.ValueType) -> Origin | None:
    named = word(pb.Origin.Name(origin), "ORIGIN")
    return cast(Origin, named) if named != "unspecified" else None


def time_to_wire(when: When) -> str:
    return when if isinstance(when, str) else when.isoformat()


def word(name: str, enumeration: str) -> str:
    """The name of an enumeration's value as this package writes it."""
    return name.removeprefix(f"{enumeration}_").lower()

"""What is known of a tool, and the answer to whether a call of it would run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from switchboard.tools.v1 import tools_pb2 as pb

from .exact import Json, maybe
from .options import check_choice
from .replies import Repair, ToolError, repair

Risk: TypeAlias = Literal["read", "write", "destructive", "outbound", "unspecified"]
Dialect: TypeAlias = Literal["openai", "openai_strict", "anthropic", "gemini", "plain"]
"""In whose terms a tool is described, and a call of it written."""
Detail: TypeAlias = Literal["full", "compact"]
"""How much of a tool is told; compact is enough to choose by."""


@dataclass(frozen=True)
class Loss:
    """One thing that a dialect cannot say as the input schema does."""

    pointer: str
    keyword: str
    message: str


@dataclass(frozen=True)
class Take:
    """Files that a call may bring."""

    count: int
    bytes: int
    """Of all files together."""
    media_types: tuple[str, ...]
    """For example image/png, or image/* for all images; empty for any."""


@dataclass(frozen=True)
class Give:
    """Files that a call can have back."""

    count: int
    bytes: int
    """Of all files together."""
    names: tuple[str, ...]
    """The files there are, which come unasked. Empty: name them in `output_files`."""


@dataclass(frozen=True)
class Files:
    """Which files a tool takes and gives."""

    take: Take | None
    give: Give | None
    stdout: str
    """Name of the file that takes the place of data; empty for none."""

    @staticmethod
    def from_wire(wire: pb.Tool.Files) -> Files:
        take, give = wire.take, wire.give
        return Files(
            take=Take(take.count, take.bytes, tuple(take.media_types))
            if wire.HasField("take")
            else None,
            give=Give(give.count, give.bytes, tuple(give.names)) if wire.HasField("give") else None,
            stdout=wire.stdout,
        )


@dataclass(frozen=True)
class Tool:
    """One tool, as much of it as a caller needs."""

    name: str
    description: str
    input_schema: Json
    output_schema: Json
    """None when the tool declares none."""
    risk: Risk
    idempotent: bool
    cache_ttl: float
    """Seconds for which a result may be served again; 0 for a tool that is not cacheable."""
    timeout: float
    """Seconds after which a call is killed."""
    source: str
    digest: str
    definition: Json
    """The element of `tools` for the dialect that was asked for; None without one."""
    losses: tuple[Loss, ...]
    tokens: int
    """About how many tokens the whole definition costs a model that is given it."""
    arguments: tuple[str, ...]
    """Names of the arguments, in compact detail."""
    required: tuple[str, ...]
    """Those of them that no call can do without."""
    files: Files | None
    """None for a tool without any."""
    operation: str
    """The operation of the OpenAPI document that it was made of; empty for a manifest's tool."""

    @staticmethod
    def from_wire(wire: pb.Tool) -> Tool:
        return Tool(
            name=wire.name,
            description=wire.description,
            input_schema=maybe(wire.input_schema_json),
            output_schema=maybe(wire.output_schema_json),
            risk=cast(Risk, pb.Risk.Name(wire.risk).removeprefix("RISK_").lower()),
            idempotent=wire.idempotent,
            cache_ttl=wire.cache_ttl_ms / 1000,
            timeout=wire.timeout_ms / 1000,
            source=wire.source,
            digest=wire.digest,
            definition=maybe(wire.definition_json),
            losses=tuple(Loss(one.pointer, one.keyword, one.message) for one in wire.losses),
            tokens=wire.tokens,
            arguments=tuple(argument.name for argument in wire.arguments),
            required=tuple(argument.name for argument in wire.arguments if argument.required),
            files=Files.from_wire(wire.files) if wire.HasField("files") else None,
            operation=wire.operation,
        )


class ToolList(list[Tool]):
    """Tools, by name."""

    catalog_digest: str = ""
    """SHA-256 (hex) of the whole catalog; changes when any tool changes."""


@dataclass(frozen=True)
class Match:
    """What of a question was found in a tool."""

    word: str
    """Of the question."""
    found: str
    """What stands in the tool; of an English word its stem."""
    how: str
    """word, synonym, prefix or spelling."""
    fields: tuple[str, ...]
    """name, description, arguments, source."""


@dataclass(frozen=True)
class Hit:
    """A tool that was found, and how well it fits; scores compare within one answer only."""

    tool: Tool
    score: float
    matches: tuple[Match, ...]

    @staticmethod
    def from_wire(wire: pb.SearchToolsResponse.Hit) -> Hit:
        matches = (Match(one.word, one.found, one.how, tuple(one.fields)) for one in wire.matches)
        return Hit(Tool.from_wire(wire.tool), wire.score, tuple(matches))


class HitList(list[Hit]):
    """Tools that were found, best first."""

    total: int = 0
    """Tools that have any word of the question, also those beyond the limit."""
    catalog_digest: str = ""
    """SHA-256 (hex) of the whole catalog; changes when any tool changes."""

    @staticmethod
    def from_wire(wire: pb.SearchToolsResponse) -> HitList:
        hits = HitList(map(Hit.from_wire, wire.hits))
        hits.total, hits.catalog_digest = wire.total, wire.catalog_digest
        return hits


@dataclass(frozen=True)
class Verdict:
    """Whether a call would run, and with which arguments."""

    valid: bool
    tool: str
    arguments: Json
    """After every repair; None when the call would not run."""
    repairs: tuple[Repair, ...]
    error: ToolError | None
    policies: tuple[str, ...]

    @staticmethod
    def from_wire(wire: pb.ValidateResponse) -> Verdict:
        return Verdict(
            valid=wire.valid,
            tool=wire.tool_name,
            arguments=maybe(wire.arguments_json),
            repairs=tuple(map(repair, wire.repairs)),
            error=error_from_wire(wire.error) if wire.HasField("error") else None,
            policies=tuple(wire.policies),
        )


def list_request(prefix: str, dialect: Dialect | None, detail: Detail) -> pb.ListToolsRequest:
    return pb.ListToolsRequest(
        name_prefix=prefix,
        page_size=1000,
        dialect=dialect_to_wire(dialect),
        detail=detail_to_wire(detail),
    )


def search_request(
    query: str,
    *,
    limit: int,
    prefix: str,
    sources: Iterable[str],
    risks: Iterable[Risk],
    dialect: Dialect | None,
    detail: Detail,
) -> pb.SearchToolsRequest:
    return pb.SearchToolsRequest(
        query=query,
        limit=limit,
        name_prefix=prefix,
        sources=sources,
        risks=risks_to_wire(risks),
        dialect=dialect_to_wire(dialect),
        detail=detail_to_wire(detail),
    )


def detail_to_wire(detail: Detail) -> pb.Detail.ValueType:
    chosen = check_choice("detail", detail, get_args(Detail))
    return pb.Detail.Value(f"DETAIL_{chosen.upper()}")


def risks_to_wire(risks: Iterable[Risk]) -> list[pb.Risk.ValueType]:
    chosen = (check_choice("risks", risk, get_args(Risk)) for risk in risks)
    return [pb.Risk.Value(f"RISK_{risk.upper()}") for risk in chosen]


def dialect_to_wire(dialect: Dialect | None) -> pb.Dialect.ValueType:
    if dialect is None:
        return pb.DIALECT_UNSPECIFIED
    return pb.Dialect.Value(f"DIALECT_{check_choice('dialect', dialect, get_args(Dialect)).upper()}")


def error_from_wire(wire: pb.Error) -> ToolError:
    return ToolError(wire.code, wire.message, maybe(wire.details_json), wire.retryable)

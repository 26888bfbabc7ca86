"""What is known of a tool, and the answer to whether a call of it would run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from switchboard.tools.v1 import tools_pb2 as pb

from .exact import Json, maybe
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
        )


@dataclass(frozen=True)
class Hit:
    """A tool that was found, and how well it fits; scores compare within one answer only."""

    tool: Tool
    score: float


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


def detail_to_wire(detail: Detail) -> pb.Detail.ValueType:
    return pb.Detail.Value(f"DETAIL_{detail.upper()}")


def risks_to_wire(risks: Iterable[Risk]) -> list[pb.Risk.ValueType]:
    return [pb.Risk.Value(f"RISK_{risk.upper()}") for risk in risks]


def dialect_to_wire(dialect: Dialect | None) -> pb.Dialect.ValueType:
    return pb.Dialect.Value(f"DIALECT_{(dialect or 'unspecified').upper()}")


def error_from_wire(wire: pb.Error) -> ToolError:
    return ToolError(wire.code, wire.message, maybe(wire.details_json), wire.retryable)

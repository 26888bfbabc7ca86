"""An approval: one call that waits, or waited, for a person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast, get_args

from switchboard.policy.v1 import policy_pb2 as pb

from .exact import Json, maybe
from .options import check_choice

State = Literal["pending", "approved", "denied", "expired", "used", "unspecified"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Approval:
    """Holds for exactly one call, once, and until it expires."""

    id: str
    state: State
    revision: int
    call_id: str
    caller: str
    tenant: str
    roles: tuple[str, ...]
    conversation_id: str
    tool: str
    risk: str
    arguments: Json
    """As they will run, but for what is masked; None once the approval is settled."""
    asked: datetime
    decide_by: datetime
    decided_by: str
    reason: str
    use_by: datetime | None
    decidable: bool
    """Whether the one who asks may decide it now."""

    @staticmethod
    def from_wire(wire: pb.Approval) -> Approval:
        return Approval(
            id=wire.id,
            state=cast(State, pb.State.Name(wire.state).removeprefix("STATE_").lower()),
            revision=wire.revision,
            call_id=wire.call_id,
            caller=wire.caller,
            tenant=wire.tenant,
            roles=tuple(wire.roles),
            conversation_id=wire.conversation_id,
            tool=wire.tool_name,
            risk=wire.risk,
            arguments=maybe(wire.arguments_json),
            asked=_time(wire.asked_ms),
            decide_by=_time(wire.decide_by_ms),
            decided_by=wire.decided_by,
            reason=wire.reason,
            use_by=_time(wire.use_by_ms) if wire.use_by_ms else None,
            decidable=wire.decidable,
        )


def states(named: Iterable[State]) -> list[pb.State.ValueType]:
    chosen = (check_choice("states", name, get_args(State)) for name in named)
    return [pb.State.Value(f"STATE_{name.upper()}") for name in chosen]


def decision(approval_id: str, approve: bool, reason: str) -> pb.DecideApprovalRequest:
    kind = pb.DecideApprovalRequest.DECISION_APPROVE if approve else (
        pb.DecideApprovalRequest.DECISION_DENY
    )
    return pb.DecideApprovalRequest(approval_id=approval_id, decision=kind, reason=reason)


def _time(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)

"""What the package makes of the reasoning: runs followed, left, taken up, ended and listed."""

import asyncio
import contextlib
import itertools
from datetime import timedelta
from decimal import Decimal

import grpc
from bed import until
from switchboard_client import AsyncClient, CallFailed, Client, reason

from .memory import endpoint
from .package import failure
from .run import check

QUESTION = "How many words has the text `one two three`?"


def opened(client):
    """The runs open beside the daemon's start."""

    def listed():
        with contextlib.suppress(CallFailed):
            return [list(client.reason.list())]

    until(listed)
    return client


def kinds(events):
    return [type(event.what).__name__ for event in events]


@check
def answers_with_evidence(client):
    with opened(client).reason.run(QUESTION, no_cache=True, timeout=30) as run:
        events = list(run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), events
    assert len({event.run_id for event in events}) == 1 and run.run_id == events[0].run_id
    assert kinds(events)[0] == "Started" and kinds(events)[-1] == "Answer", kinds(events)
    started, answer = events[0].what, run.end
    assert started.limits.steps == 5 and started.question == QUESTION, started
    assert isinstance(answer, reason.Answer) and "3 words" in answer.text, answer
    (observed,) = (one.what for one in events if isinstance(one.what, reason.Observation))
    assert observed.success and observed.item.label in answer.evidence, (observed, answer)
    thoughts = [one.what for one in events if isinstance(one.what, reason.Thought)]
    assert [one.asked.endpoint for one in thoughts] == ["scripted"] * 2, thoughts
    assert thoughts[0].asked.attempts[0].outcome == "ok" and thoughts[0].calls == 1, thoughts
    assert answer.usage.input_tokens == 200 and answer.usage.money == Decimal(0), answer
    assert 0 < answer.confidence <= 1 and not answer.cached, answer
    call = client.result(observed.call_id)
    assert call.data["words"] == 3, call
    trace = client.reason.trace(run.run_id)
    assert trace.state == "answered" and trace.data["answer"]["text"] == answer.text, trace
    steps = [one.what.whole for one in events if isinstance(one.what, reason.Step)]
    assert steps and all(step in trace.data["steps"] for step in steps), (steps, trace)


@check
def takes_a_run_up_again(client):
    with client.reason.run(QUESTION, no_cache=True, timeout=30) as run:
        first = list(itertools.takewhile(lambda one: not isinstance(one.what, reason.Thought), run))
    with client.reason.resume(run.run_id, after=first[-1].seq, timeout=30) as rest:
        more = list(rest)
    assert [one.seq for one in [*first, *more]] == list(range(1, more[-1].seq + 1)), more
    with client.reason.resume(run.run_id, timeout=30) as again:
        assert list(again)[len(first) :] == more
    assert isinstance(client.reason.resume(run.run_id, after=1).wait(), reason.Answer)


@check
def ends_and_lists_runs(client, bed):
    with client.reason.run("Be silent.", conversation_id="quiet") as run:
        assert isinstance(next(run).what, reason.Started)
    (found,) = client.reason.list("running", conversation_id="quiet")
    assert found.run_id == run.run_id and found.ended is None and found.steps == 0, found
    assert client.reason.cancel(run.run_id) and not client.reason.cancel(run.run_id)
    assert isinstance(client.reason.resume(run.run_id).wait(), reason.Cancelled)
    assert next(client.reason.list()).state == "cancelled"
    with client.reason.run("Be silent again.", cancel_on_drop=True) as left:
        next(left)
    until(lambda: next(client.reason.list()).state == "cancelled")
    with Client(endpoint(bed), token=bed.token) as other:
        assert not list(other.reason.list())
        foreign = failure(other.reason.trace, run.run_id)
        assert (foreign.code, foreign.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_RUN"), foreign


@check
def keeps_to_limits_and_says_what_is_wrong(client):
    for limit in ({"tokens": 0}, {"money": Decimal("0")}, {"steps": 0}):
        end = client.reason.answer(QUESTION, no_cache=True, timeout=30, **limit)
        assert isinstance(end, (reason.Failed, reason.Partial)), (limit, end)
    end = client.reason.answer("Be silent.", wall=timedelta(seconds=1), timeout=30)
    assert isinstance(end, (reason.Failed, reason.Partial)), end
    late = failure(client.reason.answer, "Be silent.", timeout=0.5)
    assert late.code is grpc.StatusCode.DEADLINE_EXCEEDED, late
    wrong = failure(client.reason.answer, " ", previous="seven")
    assert [one.field for one in wrong.violations] == ["question", "previous_run_id"], wrong
    try:
        client.reason.run("a", convesation_id="b")
    except TypeError as told:
        assert "the nearest is `conversation_id`" in str(told), told
    else:
        raise AssertionError("taken")


@check
def goes_on_once_a_person_has_approved(client, bed):
    with Client(endpoint(bed), token=bed.token) as agent:
        with agent.reason.run("Please erase note 7.", no_cache=True, timeout=60) as run:
            for event in run:
                if isinstance(event.what, reason.Waiting):
                    with Client(endpoint(bed), token=bed.approver) as boss:
                        boss.approvals.approve(event.what.approval_id, "as asked")
        assert isinstance(run.end, reason.Answer), run.end


@check
def reasons_for_asyncio(bed):
    async def main():
        async with AsyncClient(endpoint(bed)) as client:
            async with client.reason.run(QUESTION, no_cache=True, timeout=30) as run:
                events = [event async for event in run]
            assert isinstance(run.end, reason.Answer) and "3 words" in run.end.text, run.end
            again = client.reason.resume(run.run_id, after=2, timeout=30)
            assert [event async for event in again] == events[2:]
            ends = await asyncio.gather(
                *(client.reason.answer(QUESTION, no_cache=True, timeout=60) for _ in range(5))
            )
            assert all(isinstance(end, reason.Answer) for end in ends), ends
            listed = [one async for one in client.reason.list("answered")]
            assert len(listed) >= 6, listed
            trace = await client.reason.trace(run.run_id)
            assert trace.state == "answered" and trace.text, trace
            assert not await client.reason.cancel(run.run_id)

    asyncio.run(main())

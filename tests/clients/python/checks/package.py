"""What the package makes of the wire: values, errors, sending again, ending early."""

import asyncio
import contextlib
import re
import threading
import time
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import grpc
from bed import until
from switchboard_client import (
    Accepted,
    AsyncClient,
    CallFailed,
    Client,
    Entry,
    Output,
    Reply,
    Started,
    Waiting,
    parse,
    ref,
    render,
)

from .run import check
from .wire import SLEEP


def failure(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except CallFailed as failed:
        return failed
    raise AssertionError("did not fail")


def recorded(client, call_id):
    """The code of a call's record, once it is there."""

    def code():
        with contextlib.suppress(CallFailed):
            reply = client.result(call_id)
            return reply.error.code if reply.error else "SUCCESS"

    return until(code)


@check
def gives_numbers_as_they_were_sent(client):
    sent = [2**80, Decimal("0.1"), Decimal("12345678901234567890.123456789"), 1.5, True, None]
    reply = client.call("python.run", {"code": "result = input[0] + 1", "input": sent})
    assert reply.data == 2**80 + 1, reply
    # What the daemon gives back of the arguments is what was sent, digit for digit.
    verdict = client.validate("python.run", {"code": "1", "input": sent})
    assert verdict.valid and verdict.arguments["input"] == sent, verdict
    kinds = [type(value) for value in verdict.arguments["input"]]
    assert kinds == [int, Decimal, Decimal, Decimal, bool, type(None)], kinds
    text = '{"code":"1","input":12345678901234567890.10}'
    assert str(client.validate("python.run", text).arguments["input"]) == "12345678901234567890.10"


@check
def sends_text_that_is_no_text(client):
    # Half of a surrogate pair: the daemon can say what it thinks of it, the client must not fail.
    reply = client.call("text.stats", {"text": "\ud83d"})
    assert reply.error.code == "SCHEMA_VALIDATION_ERROR", reply
    assert parse(render({"a": "\ud83d", "b": "你", "c": Decimal("1.10")})) == {
        "a": "\ud83d",
        "b": "你",
        "c": Decimal("1.10"),
    }
    for value in (Decimal("NaN"), float("inf")):
        try:
            render(value)
        except ValueError:
            continue
        raise AssertionError(value)


@check
def gives_an_error_of_a_tool_or_a_refusal_as_a_value(client):
    reply = client.call("python.run", {"code": "1 / 0"})
    assert not reply.ok and reply.status == "error" and reply.error.code == "EXECUTION_ERROR"
    reply = client.call("text.stats", {"text": 5, "txt": "x"})
    assert reply.error.code == "SCHEMA_VALIDATION_ERROR" and reply.error.details["violations"]
    reply = client.call("text.stats", {"text": "top secret"})
    assert reply.error.code == "POLICY_DENIED" and not reply.error.retryable, reply
    assert reply.error.details["policies"] == ["no-secret-texts"], reply
    reply = client.call("text.statistics", {})
    assert reply.error.code == "UNKNOWN_TOOL" and "text.stats" in reply.json, reply


@check
def gives_a_status_as_an_error_with_its_reason(client):
    failed = failure(client.get_tool, "no.such")
    assert (failed.code, failed.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_TOOL"), failed
    failed = failure(client.call, "", {})
    assert failed.reason == "MALFORMED_REQUEST" and failed.by_daemon, failed
    assert [wrong.field for wrong in failed.violations] == ["tool_name"], failed.violations
    failed = failure(Client("unix:/nowhere.sock", attempts=1).list_tools)
    assert failed.code == grpc.StatusCode.UNAVAILABLE and not failed.by_daemon, failed


@check
def lists_and_describes_tools(client):
    tools = {tool.name: tool for tool in client.list_tools()}
    stats = tools["text.stats"]
    assert stats.input_schema["required"] == ["text"] and stats.risk == "read" and stats.idempotent
    assert (stats.cache_ttl, stats.timeout) == (300, 3), stats
    assert client.get_tool("text.stats") == stats
    assert [tool.name for tool in client.list_tools("text.")] == ["text.stats"]


@check
def describes_and_calls_a_tool_in_the_terms_of_a_model_host(client):
    definition = client.get_tool("text.stats", dialect="openai").definition
    assert definition["type"] == "function", definition
    name = definition["function"]["name"]
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", name), name
    reply = client.call(name, {"text": "a b"}, dialect="openai")
    assert reply.ok and reply.tool == "text.stats", reply
    shown = {tool.name: tool.definition for tool in client.list_tools(dialect="openai")}
    assert shown["text.stats"] == definition, shown


@check
def finds_tools_by_what_they_do(client):
    hits = client.search_tools("count the words of a text", limit=3, detail="compact")
    assert hits[0].tool.name == "text.stats" and hits[0].tool.arguments == ("text",), hits
    assert len(hits) <= 3 and [hit.score for hit in hits] == sorted(
        (hit.score for hit in hits), reverse=True
    )
    (hit, *_) = client.search_tools("count words", dialect="anthropic", risks=["read"])
    assert hit.tool.definition["input_schema"]["required"] == ["text"], hit
    assert hit.tool.tokens > 10


@check
def answers_the_messages_of_several_model_hosts(client):
    openai = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "text_dot_stats", "arguments": '{"text":"a b"}'},
            }
        ],
    }
    answer = client.call_native("openai_chat", openai)
    (message,) = answer.messages
    assert (message["role"], message["tool_call_id"]) == ("tool", "call_1"), message
    assert '"words":2' in message["content"] and answer.calls[0].reply.data["words"] == 2
    anthropic = {
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [
            {"type": "text", "text": "I count."},
            {"type": "tool_use", "id": "t1", "name": "text_dot_stats", "input": {"text": "a"}},
            {"type": "tool_use", "id": "t2", "name": "no_such", "input": {}},
        ],
    }
    answer = client.call_native("anthropic", anthropic)
    (message,) = answer.messages
    assert message["role"] == "user" and answer.text == "I count.", answer
    results = {part["tool_use_id"]: part for part in message["content"]}
    assert set(results) == {"t1", "t2"} and results["t2"]["is_error"], results
    assert [call.reply.ok for call in answer.calls] == [True, False], answer.calls
    text = 'I will: {"name": "text.stats", "arguments": {"text": "a b c"}}'
    answer = client.call_native("text", text)
    assert answer.reading == "calls" and answer.calls[0].reply.data["words"] == 3, answer
    assert client.call_native("text", "Three.").messages == ()
    failed = failure(client.call_native, "anthropic", openai)
    assert failed.reason == "MALFORMED_REQUEST" and failed.violations, failed


@check
def runs_calls_that_use_the_results_of_others(client):
    double = "result = {'twice': input * 2}"
    done = client.batch({
        "first": Entry("python.run", {"code": double, "input": 2**70}),
        "second": Entry("python.run", {"code": double, "input": ref("first", "/twice")}),
        "alone": Entry("text.stats", {"text": "a b"}),
        "broken": Entry("python.run", {"code": "1 / 0"}),
        "after": Entry("text.stats", {"text": ref("broken")}),
    })
    assert not done.refused and done.replies["second"].data == {"twice": 2**72}, done
    assert done.replies["alone"].data["words"] == 2, done
    assert done.replies["broken"].error.code == "EXECUTION_ERROR", done
    assert done.replies["after"].error.code == "SKIPPED", done
    assert client.result(done.replies["second"].call_id).data == {"twice": 2**72}
    circle = {
        "a": Entry("text.stats", {"text": ref("b")}),
        "b": Entry("text.stats", {"text": ref("a")}),
    }
    done = client.batch(circle)
    assert done.refused and not any(reply.ok for reply in done.replies.values()), done


@check
def streams_events_and_ends_with_the_reply(client):
    with client.stream("python.run", {"code": "print('seen', flush=True); result = 7"}) as stream:
        events = list(stream)
    assert [type(event) for event in events[:2]] == [Accepted, Started], events
    assert events[0].call_id == stream.call_id and events[-1] is stream.reply
    assert b"seen" in b"".join(one.data for one in events if isinstance(one, Output)), events
    assert stream.reply.data == 7


@check
def ends_the_call_when_a_stream_is_left(client):
    with client.stream("python.run", SLEEP) as stream:
        until(lambda: isinstance(next(stream), Started))
    assert recorded(client, stream.call_id) == "CANCELLED"


@check
def cancels_from_another_thread(client):
    call_id, failures = str(uuid.uuid4()), []
    run = threading.Thread(
        target=lambda: failures.append(failure(client.call, "python.run", SLEEP, call_id=call_id))
    )
    run.start()

    def cancelled():
        with contextlib.suppress(CallFailed):
            return client.cancel(call_id)

    until(cancelled)
    run.join()
    (failed,) = failures
    assert (failed.reason, failed.call_id) == ("CANCELLED", call_id), failed
    assert failed.reply.error.code == "CANCELLED", failed.reply


@check
def keeps_the_deadline_and_tells_which_call_it_was(client):
    began = time.monotonic()
    failed = failure(client.call, "python.run", SLEEP, timeout=0.5)
    assert time.monotonic() - began < 1.2, "as long as the tool"
    assert failed.code == grpc.StatusCode.DEADLINE_EXCEEDED, failed
    assert recorded(client, failed.call_id) in ("DEADLINE_EXCEEDED", "CANCELLED")


@check
def sends_again_after_the_delay_that_it_is_told(bed):
    endpoint = f"unix:{bed.folder}/slow.sock"
    with Client(endpoint, attempts=1) as once, Client(endpoint) as again:

        def too_many():
            try:
                once.call("text.stats", {"text": "a"})
            except CallFailed as failed:
                return failed

        failed = until(too_many)
        assert failed.reason == "RATE_LIMITED" and 0 < failed.retry_after <= 1, failed
        for _ in range(2):
            key = str(uuid.uuid4())
            assert again.call("text.stats", {"text": "a"}, idempotency_key=key).ok
        # No time for the delay: the status is given at once.
        began = time.monotonic()
        failed = failure(again.call, "text.stats", {"text": "a"}, timeout=0.3)
        assert failed.reason == "RATE_LIMITED" and time.monotonic() - began < 0.3, failed


@check
def runs_a_call_once_with_a_key_and_reads_it_again(client):
    arguments = {"code": "import random; result = random.random()"}
    key = str(uuid.uuid4())
    first, second = (client.call("python.run", arguments, idempotency_key=key) for _ in range(2))
    assert first.ok and first.data == second.data, (first, second)
    assert client.result(first.call_id) == first


@check
def carries_files_both_ways(client):
    code = "open('/tmp/out/b.txt', 'w').write(open('/tmp/in/a.txt').read().upper())"
    reply = client.call(
        "python.run", {"code": code}, files={"a.txt": b"seen"}, output_files=["b.txt"]
    )
    (file,) = reply.files
    assert (file.name, file.content, file.size) == ("b.txt", b"SEEN", 4), file
    (again,) = client.result(reply.call_id).files
    assert again.content is None and again.sha256 == file.sha256


@check
def waits_for_a_person_and_lets_one_decide(client, bed):
    endpoint = f"unix:{bed.folder}/first.sock"
    with Client(endpoint, token=bed.approver) as boss:
        asked = client.call("notes.erase", {"id": 1})
        assert asked.approval_id and asked.error.code == "APPROVAL_REQUIRED", asked
        pending = {one.id: one for one in boss.approvals.list("pending")}[asked.approval_id]
        assert (pending.tool, pending.risk, pending.arguments) == (
            "notes.erase",
            "destructive",
            {"id": 1},
        )
        assert pending.decidable and abs((datetime.now(UTC) - pending.asked).total_seconds()) < 60
        failed = failure(client.approvals.approve, asked.approval_id)
        assert failed.reason == "NOT_AN_APPROVER", failed
        boss.approvals.deny(asked.approval_id, "not this one")
        reply = client.call("notes.erase", {"id": 1})
        assert reply.error.code == "APPROVAL_REJECTED", reply

        def approve():
            for approval in boss.approvals.watch("pending", timeout=20):
                if approval.arguments == {"id": 2}:
                    boss.approvals.approve(approval.id, "fine")
                    return

        person = threading.Thread(target=approve)
        person.start()
        events = list(client.stream("notes.erase", {"id": 2}, wait_for_approval=True))
        person.join()
        waited = [event for event in events if isinstance(event, Waiting)]
        assert len(waited) == 1 and events[-1].data == {"erased": True, "id": 2}, events
        assert client.approvals.get(waited[0].approval_id).state == "used"


@check
def serves_asyncio_alike(bed):
    async def all_of_it():
        async with AsyncClient(f"unix:{bed.folder}/first.sock") as client:
            texts = ["a", "b c", "d e f"]
            calls = [client.call("text.stats", {"text": text}) for text in texts]
            assert [reply.data["words"] for reply in await asyncio.gather(*calls)] == [1, 2, 3]
            events = [event async for event in client.stream("python.run", {"code": "result = 1"})]
            assert isinstance(events[0], Accepted) and isinstance(events[-1], Reply), events
            assert (await client.validate("text.stats", {"Text": "a"})).repairs
            with contextlib.suppress(CallFailed):
                await client.get_tool("no.such")
                raise AssertionError("did not fail")
            call_id = str(uuid.uuid4())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.call("python.run", SLEEP, call_id=call_id), 0.5)
                raise AssertionError("was not cancelled")
            return call_id

    call_id = asyncio.run(all_of_it())
    with Client(f"unix:{bed.folder}/first.sock") as client:
        assert recorded(client, call_id) in ("DEADLINE_EXCEEDED", "CANCELLED")

"""What any program finds on the wire, with nothing but the generated stubs."""

import contextlib
import hashlib
import json
import time
import uuid

import grpc
from bed import until
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status
from switchboard.policy.v1 import policy_pb2 as policy_pb
from switchboard.tools.v1 import tools_pb2 as pb
from switchboard_client import Client, Tls

from .run import check

SERVICE = "switchboard.tools.v1.ToolService"
SLEEP = {"code": "import time; time.sleep(1.2); result = 'slept'"}
SERVING = health_pb2.HealthCheckResponse.SERVING


def refusal(expected, function, *arguments, **more):
    """Expects this gRPC status, and gives the error that carries it."""
    try:
        function(*arguments, **more)
    except grpc.RpcError as error:
        assert error.code() == expected, (error.code(), error.details())
        return error
    raise AssertionError(f"no error where {expected} was expected")


def detail(error, kind):
    """The google.rpc detail of this kind that came with a status, or None."""
    status = rpc_status.from_call(error)
    for packed in status.details if status else ():
        message = kind()
        if packed.Unpack(message):
            return message
    return None


def reply_of(client, tool, arguments, files=None, **more):
    sent = [pb.File(name=name, content=content) for name, content in (files or {}).items()]
    request = pb.CallRequest(
        tool_name=tool, arguments_json=json.dumps(arguments), files=sent, **more
    )
    return client.tools.Call(request, timeout=30).reply


@check
def lists_tools_by_page(client):
    whole = client.tools.ListTools(pb.ListToolsRequest())
    names = [tool.name for tool in whole.tools]
    assert names == sorted(names) and {"python.run", "text.stats"} <= set(names), names
    paged, token = [], ""
    while True:
        request = pb.ListToolsRequest(page_size=2, page_token=token)
        page = client.tools.ListTools(request)
        assert len(page.tools) <= 2 and page.catalog_digest == whole.catalog_digest
        paged += [tool.name for tool in page.tools]
        token = page.next_page_token
        if not token:
            break
    assert paged == names, paged
    some = client.tools.ListTools(pb.ListToolsRequest(name_prefix="text."))
    assert [tool.name for tool in some.tools] == ["text.stats"]


@check
def describes_one_tool(client):
    tool = client.tools.GetTool(pb.GetToolRequest(name="text.stats"))
    assert json.loads(tool.input_schema_json)["required"] == ["text"]
    assert json.loads(tool.output_schema_json)["type"] == "object"
    assert tool.risk == pb.RISK_READ and tool.cache_ttl_ms == 300_000 and tool.description


@check
def names_no_tool_that_is_not_there(client):
    get = client.tools.GetTool
    error = refusal(grpc.StatusCode.NOT_FOUND, get, pb.GetToolRequest(name="no.such"))
    info = detail(error, error_details_pb2.ErrorInfo)
    assert info.reason == "UNKNOWN_TOOL" and info.domain == "switchboard", info


@check
def validates_without_running(client):
    good = pb.CallRequest(tool_name="text.stats", arguments_json='{"Text":"a"}')
    answer = client.tools.Validate(good)
    assert answer.valid and json.loads(answer.arguments_json) == {"text": "a"}, answer
    assert [repair.kind for repair in answer.repairs] == ["rename"] and answer.policies
    bad = pb.CallRequest(tool_name="text.stats", arguments_json='{"text":[]}')
    answer = client.tools.Validate(bad)
    assert not answer.valid and answer.error.code == "SCHEMA_VALIDATION_ERROR", answer


@check
def answers_a_call_in_one_shape(client):
    reply = reply_of(client, "text.stats", {"text": "one two\nthree\n"})
    data = json.loads(reply.data_json)
    assert reply.status == pb.Reply.STATUS_SUCCESS and data["words"] == 3, reply
    whole = json.loads(reply.json)
    assert set(whole) == {"tool_name", "status", "data", "error", "metadata"}, whole
    assert whole["data"] == data and whole["status"] == "success" and whole["error"] is None
    assert whole["metadata"]["call_id"] == reply.metadata.call_id
    assert "\n" not in reply.json and reply.metadata.latency_ms > 0


@check
def repairs_and_says_so(client):
    reply = reply_of(client, "text.stats", {"Text": "two words"})
    assert json.loads(reply.data_json)["words"] == 2, reply
    (repair,) = reply.metadata.repairs
    assert (repair.kind, repair.pointer) == ("rename", "/text"), repair


@check
def refuses_wrong_arguments_with_their_places(client):
    reply = reply_of(client, "text.stats", {"text": 5, "txt": "x"})
    assert reply.status == pb.Reply.STATUS_ERROR, reply
    assert reply.error.code == "SCHEMA_VALIDATION_ERROR" and not reply.error.retryable
    assert json.loads(reply.error.details_json)["violations"], reply.error


@check
def keeps_big_integers_exact(client):
    arguments = {"code": "result = input + 1", "input": 2**80}
    assert reply_of(client, "python.run", arguments).data_json == str(2**80 + 1)


@check
def lets_a_model_read_how_a_tool_failed(client):
    reply = reply_of(client, "python.run", {"code": "1 / 0"})
    assert reply.error.code == "EXECUTION_ERROR", reply
    assert "ZeroDivisionError" in reply.json


@check
def refuses_a_malformed_request_by_status(client):
    request = pb.CallRequest(tool_name="", arguments_json="{}")
    error = refusal(grpc.StatusCode.INVALID_ARGUMENT, client.tools.Call, request)
    assert detail(error, error_details_pb2.BadRequest).field_violations
    assert detail(error, error_details_pb2.ErrorInfo).reason == "MALFORMED_REQUEST"


@check
def streams_output_before_the_reply(client):
    arguments = json.dumps({"code": "print('seen', flush=True); result = 7"})
    request = pb.CallRequest(tool_name="python.run", arguments_json=arguments)
    events = list(client.tools.CallStream(request, timeout=30))
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[:2] == ["accepted", "started"] and kinds.count("reply") == 1, kinds
    assert kinds[-1] == "reply" and events[-1].reply.data_json == "7", events
    written = b"".join(event.output.data for event in events)
    assert b"seen" in written, written
    assert events[0].accepted.call_id == events[-1].reply.metadata.call_id


@check
def sends_files_and_gets_files(client):
    code = (
        "text = open('/tmp/in/a.txt').read()\n"
        "open('/tmp/out/b.txt', 'w').write(text.upper()); result = len(text)"
    )
    files = {"a.txt": b"seen"}
    reply = reply_of(client, "python.run", {"code": code}, files=files, output_files=["b.txt"])
    assert reply.data_json == "4", reply
    (given,) = reply.files
    assert (given.name, given.content, given.media_type) == ("b.txt", b"SEEN", "text/plain"), given
    (listed,) = json.loads(reply.json)["metadata"]["files"]
    assert listed["sha256"] == given.sha256 == hashlib.sha256(b"SEEN").hexdigest(), listed
    request = pb.CallRequest(
        tool_name="python.run",
        arguments_json=json.dumps({"code": code}),
        files=[pb.File(name="a.txt", content=b"seen")],
        output_files=["b.txt", "c.txt"],
    )
    reply = list(client.tools.CallStream(request, timeout=30))[-1].reply
    assert reply.error.code == "EXECUTION_ERROR" and "`c.txt`" in reply.error.message, reply
    assert [file.content for file in reply.files] == [b"SEEN"], reply


@check
def cancels_a_running_call(client):
    call_id = str(uuid.uuid4())
    request = pb.CallRequest(
        tool_name="python.run", arguments_json=json.dumps(SLEEP), call_id=call_id
    )
    reply = None
    try:
        for event in client.tools.CallStream(request, timeout=30):
            kind = event.WhichOneof("event")
            if kind == "started":
                cancelled = client.tools.Cancel(pb.CancelRequest(call_id=call_id)).cancelled
                assert cancelled
            elif kind == "reply":
                reply = event.reply
    except grpc.RpcError as error:
        reply = detail(error, pb.Reply)
    assert reply is not None and reply.error.code == "CANCELLED", reply
    assert not client.tools.Cancel(pb.CancelRequest(call_id=call_id)).cancelled


@check
def gives_a_result_again_whole_and_by_page(client):
    reply = reply_of(client, "python.run", {"code": "result = 'ä€😀' * 20"})
    call_id = reply.metadata.call_id
    whole = client.tools.GetResult(pb.GetResultRequest(call_id=call_id))
    assert whole.json == reply.json and whole.next_offset == 0
    assert whole.total_bytes == len(reply.json.encode())
    text, offset = "", 0
    while True:
        request = pb.GetResultRequest(call_id=call_id, offset=offset, limit=50)
        page = client.tools.GetResult(request)
        text, offset = text + page.json, page.next_offset
        if offset == 0:
            break
    assert text == reply.json
    unknown = pb.GetResultRequest(call_id=str(uuid.uuid4()))
    refusal(grpc.StatusCode.NOT_FOUND, client.tools.GetResult, unknown)


@check
def runs_a_call_once_per_idempotency_key(client):
    arguments = {"code": "import random; result = random.random()"}
    key = str(uuid.uuid4())
    first = reply_of(client, "python.run", arguments, idempotency_key=key)
    second = reply_of(client, "python.run", arguments, idempotency_key=key)
    assert first.data_json == second.data_json != "null", (first, second)


@check
def ends_a_call_at_its_deadline(client):
    call_id = str(uuid.uuid4())
    request = pb.CallRequest(
        tool_name="python.run", arguments_json=json.dumps(SLEEP), call_id=call_id
    )
    began = time.monotonic()
    refusal(grpc.StatusCode.DEADLINE_EXCEEDED, client.tools.Call, request, timeout=0.5)
    assert time.monotonic() - began < 2

    def recorded():
        with contextlib.suppress(grpc.RpcError):
            return client.tools.GetResult(pb.GetResultRequest(call_id=call_id)).json

    code = json.loads(until(recorded))["error"]["code"]
    assert code in ("DEADLINE_EXCEEDED", "CANCELLED"), code


@check
def answers_keepalive_during_a_call_and_without_one(bed):
    # The interval is one that a server may call a flood; this one lets pings be.
    options = [
        ("grpc.keepalive_time_ms", 200),
        ("grpc.keepalive_timeout_ms", 1000),
        ("grpc.http2.min_ping_interval_without_data_ms", 200),
    ]
    tls = Tls(*((bed.folder / name).read_bytes() for name in ("ca.pem", "client.pem", "client.key")))
    with (
        Client(f"unix:{bed.folder}/first.sock", options=options, attempts=1) as local,
        Client(bed.tcp, tls=tls, options=options, attempts=1) as remote,
    ):
        seen = {local: [], remote: []}
        for client, states in seen.items():
            client.channel.subscribe(states.append)
            assert client.call("python.run", SLEEP).data == "slept"
        # Nothing but pings for a while.
        time.sleep(2)
        lost = {grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.TRANSIENT_FAILURE}
        for client, states in seen.items():
            assert client.call("text.stats", {"text": "a"}).ok
            assert not lost & set(states[states.index(grpc.ChannelConnectivity.READY) :]), states


@check
def tells_its_health(client):
    stub = health_pb2_grpc.HealthStub(client.channel)
    for service in ("", SERVICE, "liveness"):
        request = health_pb2.HealthCheckRequest(service=service)
        assert stub.Check(request, timeout=5).status == SERVING, service
    unknown = health_pb2.HealthCheckRequest(service="nope")
    refusal(grpc.StatusCode.NOT_FOUND, stub.Check, unknown, timeout=5)


@check
def describes_itself_by_reflection(client):
    for version in ("v1", "v1alpha"):
        # The messages of both versions have one layout.
        method = client.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            reflection_pb2.ServerReflectionRequest.SerializeToString,
            reflection_pb2.ServerReflectionResponse.FromString,
        )
        asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
        (answer,) = method(iter(asked), timeout=5)
        names = [service.name for service in answer.list_services_response.service]
        assert SERVICE in names and "grpc.health.v1.Health" in names, names


@check
def asks_for_approvals(client):
    asked = policy_pb.ListApprovalsRequest(states=[policy_pb.STATE_PENDING])
    assert not client.policies.ListApprovals(asked).approvals
    approve = policy_pb.DecideApprovalRequest(
        approval_id=str(uuid.uuid4()),
        decision=policy_pb.DecideApprovalRequest.DECISION_APPROVE,
    )
    error = refusal(grpc.StatusCode.NOT_FOUND, client.policies.DecideApproval, approve)
    assert detail(error, error_details_pb2.ErrorInfo).reason == "UNKNOWN_APPROVAL"

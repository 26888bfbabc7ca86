"""Talks to a real daemon as a program in another language would, and says what did not hold.

    check.py path/to/switchboard path/to/images.toml

Starts the daemon with the policies of this repository, in a temporary folder, and stops it again.
"""

import contextlib
import hashlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2

from client import SERVICE, Client, detail, pb, policy_pb

ROOT = pathlib.Path(__file__).resolve().parents[3]
SLEEP = {"code": "import time; time.sleep(1.2); result = 'slept'"}
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def refusal(expected, function, *arguments, **more):
    """Expects this gRPC status, and gives the error that carries it."""
    try:
        function(*arguments, **more)
    except grpc.RpcError as error:
        assert error.code() == expected, (error.code(), error.details())
        return error
    raise AssertionError(f"no error where {expected} was expected")


def until(condition, seconds=10):
    """Waits until the condition gives something true, and gives that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {condition}")


@check
def lists_tools_by_page(daemon):
    whole = daemon.tools.ListTools(pb.ListToolsRequest())
    names = [tool.name for tool in whole.tools]
    assert names == sorted(names) and {"python.run", "text.stats"} <= set(names), names
    paged, token = [], ""
    while True:
        request = pb.ListToolsRequest(page_size=2, page_token=token)
        page = daemon.tools.ListTools(request)
        assert len(page.tools) <= 2 and page.catalog_digest == whole.catalog_digest
        paged += [tool.name for tool in page.tools]
        token = page.next_page_token
        if not token:
            break
    assert paged == names, paged
    some = daemon.tools.ListTools(pb.ListToolsRequest(name_prefix="text."))
    assert [tool.name for tool in some.tools] == ["text.stats"]


@check
def describes_one_tool(daemon):
    tool = daemon.tools.GetTool(pb.GetToolRequest(name="text.stats"))
    assert json.loads(tool.input_schema_json)["required"] == ["text"]
    assert json.loads(tool.output_schema_json)["type"] == "object"
    assert tool.risk == pb.RISK_READ and tool.cache_ttl_ms == 300_000 and tool.description


@check
def names_no_tool_that_is_not_there(daemon):
    get = daemon.tools.GetTool
    error = refusal(grpc.StatusCode.NOT_FOUND, get, pb.GetToolRequest(name="no.such"))
    info = detail(error, error_details_pb2.ErrorInfo)
    assert info.reason == "UNKNOWN_TOOL" and info.domain == "switchboard", info


@check
def validates_without_running(daemon):
    good = pb.CallRequest(tool_name="text.stats", arguments_json='{"Text":"a"}')
    answer = daemon.tools.Validate(good)
    assert answer.valid and json.loads(answer.arguments_json) == {"text": "a"}, answer
    assert [repair.kind for repair in answer.repairs] == ["rename"] and answer.policies
    bad = pb.CallRequest(tool_name="text.stats", arguments_json='{"text":[]}')
    answer = daemon.tools.Validate(bad)
    assert not answer.valid and answer.error.code == "SCHEMA_VALIDATION_ERROR", answer


@check
def answers_a_call_in_one_shape(daemon):
    reply = daemon.call("text.stats", {"text": "one two\nthree\n"})
    data = json.loads(reply.data_json)
    assert reply.status == pb.Reply.STATUS_SUCCESS and data["words"] == 3, reply
    whole = json.loads(reply.json)
    assert set(whole) == {"tool_name", "status", "data", "error", "metadata"}, whole
    assert whole["data"] == data and whole["status"] == "success" and whole["error"] is None
    assert whole["metadata"]["call_id"] == reply.metadata.call_id
    assert "\n" not in reply.json and reply.metadata.latency_ms > 0


@check
def repairs_and_says_so(daemon):
    reply = daemon.call("text.stats", {"Text": "two words"})
    assert json.loads(reply.data_json)["words"] == 2, reply
    (repair,) = reply.metadata.repairs
    assert (repair.kind, repair.pointer) == ("rename", "/text"), repair


@check
def refuses_wrong_arguments_with_their_places(daemon):
    reply = daemon.call("text.stats", {"text": 5, "txt": "x"})
    assert reply.status == pb.Reply.STATUS_ERROR, reply
    assert reply.error.code == "SCHEMA_VALIDATION_ERROR" and not reply.error.retryable
    assert json.loads(reply.error.details_json)["violations"], reply.error


@check
def keeps_big_integers_exact(daemon):
    arguments = {"code": "result = input + 1", "input": 2**80}
    assert daemon.call("python.run", arguments).data_json == str(2**80 + 1)


@check
def lets_a_model_read_how_a_tool_failed(daemon):
    reply = daemon.call("python.run", {"code": "1 / 0"})
    assert reply.error.code == "EXECUTION_ERROR", reply
    assert "ZeroDivisionError" in reply.json


@check
def refuses_a_malformed_request_by_status(daemon):
    request = pb.CallRequest(tool_name="", arguments_json="{}")
    error = refusal(grpc.StatusCode.INVALID_ARGUMENT, daemon.tools.Call, request)
    assert detail(error, error_details_pb2.BadRequest).field_violations
    assert detail(error, error_details_pb2.ErrorInfo).reason == "MALFORMED_REQUEST"


@check
def streams_output_before_the_reply(daemon):
    arguments = json.dumps({"code": "print('seen', flush=True); result = 7"})
    request = pb.CallRequest(tool_name="python.run", arguments_json=arguments)
    events = list(daemon.tools.CallStream(request, timeout=30))
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[:2] == ["accepted", "started"] and kinds.count("reply") == 1, kinds
    assert kinds[-1] == "reply" and events[-1].reply.data_json == "7", events
    written = b"".join(event.output.data for event in events)
    assert b"seen" in written, written
    assert events[0].accepted.call_id == events[-1].reply.metadata.call_id


@check
def sends_files_and_gets_files(daemon):
    code = (
        "text = open('/tmp/in/a.txt').read()\n"
        "open('/tmp/out/b.txt', 'w').write(text.upper()); result = len(text)"
    )
    files = {"a.txt": b"seen"}
    reply = daemon.call("python.run", {"code": code}, files=files, output_files=["b.txt"])
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
    reply = list(daemon.tools.CallStream(request, timeout=30))[-1].reply
    assert reply.error.code == "EXECUTION_ERROR" and "`c.txt`" in reply.error.message, reply
    assert [file.content for file in reply.files] == [b"SEEN"], reply


@check
def cancels_a_running_call(daemon):
    call_id = str(uuid.uuid4())
    request = pb.CallRequest(
        tool_name="python.run", arguments_json=json.dumps(SLEEP), call_id=call_id
    )
    reply = None
    try:
        for event in daemon.tools.CallStream(request, timeout=30):
            kind = event.WhichOneof("event")
            if kind == "started":
                cancelled = daemon.tools.Cancel(pb.CancelRequest(call_id=call_id)).cancelled
                assert cancelled
            elif kind == "reply":
                reply = event.reply
    except grpc.RpcError as error:
        reply = detail(error, pb.Reply)
    assert reply is not None and reply.error.code == "CANCELLED", reply
    assert not daemon.tools.Cancel(pb.CancelRequest(call_id=call_id)).cancelled


@check
def gives_a_result_again_whole_and_by_page(daemon):
    reply = daemon.call("python.run", {"code": "result = 'ä€😀' * 20"})
    call_id = reply.metadata.call_id
    whole = daemon.tools.GetResult(pb.GetResultRequest(call_id=call_id))
    assert whole.json == reply.json and whole.next_offset == 0
    assert whole.total_bytes == len(reply.json.encode())
    text, offset = "", 0
    while True:
        request = pb.GetResultRequest(call_id=call_id, offset=offset, limit=50)
        page = daemon.tools.GetResult(request)
        text, offset = text + page.json, page.next_offset
        if offset == 0:
            break
    assert text == reply.json
    unknown = pb.GetResultRequest(call_id=str(uuid.uuid4()))
    refusal(grpc.StatusCode.NOT_FOUND, daemon.tools.GetResult, unknown)


@check
def runs_a_call_once_per_idempotency_key(daemon):
    arguments = {"code": "import random; result = random.random()"}
    key = str(uuid.uuid4())
    first = daemon.call("python.run", arguments, idempotency_key=key)
    second = daemon.call("python.run", arguments, idempotency_key=key)
    assert first.data_json == second.data_json != "null", (first, second)


@check
def ends_a_call_at_its_deadline(daemon):
    call_id = str(uuid.uuid4())
    request = pb.CallRequest(
        tool_name="python.run", arguments_json=json.dumps(SLEEP), call_id=call_id
    )
    began = time.monotonic()
    refusal(grpc.StatusCode.DEADLINE_EXCEEDED, daemon.tools.Call, request, timeout=0.5)
    assert time.monotonic() - began < 2

    def recorded():
        with contextlib.suppress(grpc.RpcError):
            return daemon.tools.GetResult(pb.GetResultRequest(call_id=call_id)).json

    code = json.loads(until(recorded))["error"]["code"]
    assert code in ("DEADLINE_EXCEEDED", "CANCELLED"), code


@check
def answers_keepalive_during_a_call(daemon):
    options = [("grpc.keepalive_time_ms", 300), ("grpc.keepalive_timeout_ms", 1000)]
    client = Client(daemon.endpoint, options)
    assert client.call("python.run", SLEEP).data_json == '"slept"'


@check
def tells_its_health(daemon):
    stub = health_pb2_grpc.HealthStub(daemon.channel)
    for service in ("", SERVICE, "liveness"):
        request = health_pb2.HealthCheckRequest(service=service)
        assert stub.Check(request, timeout=5).status == SERVING, service
    unknown = health_pb2.HealthCheckRequest(service="nope")
    refusal(grpc.StatusCode.NOT_FOUND, stub.Check, unknown, timeout=5)


@check
def describes_itself_by_reflection(daemon):
    for version in ("v1", "v1alpha"):
        # The messages of both versions have one layout.
        method = daemon.channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            reflection_pb2.ServerReflectionRequest.SerializeToString,
            reflection_pb2.ServerReflectionResponse.FromString,
        )
        asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
        (answer,) = method(iter(asked), timeout=5)
        names = [service.name for service in answer.list_services_response.service]
        assert SERVICE in names and "grpc.health.v1.Health" in names, names


@check
def asks_for_approvals(daemon):
    asked = policy_pb.ListApprovalsRequest(states=[policy_pb.STATE_PENDING])
    assert not daemon.policies.ListApprovals(asked).approvals
    approve = policy_pb.DecideApprovalRequest(
        approval_id=str(uuid.uuid4()),
        decision=policy_pb.DecideApprovalRequest.DECISION_APPROVE,
    )
    error = refusal(grpc.StatusCode.NOT_FOUND, daemon.policies.DecideApproval, approve)
    assert detail(error, error_details_pb2.ErrorInfo).reason == "UNKNOWN_APPROVAL"


@check
def drains_on_sigterm(daemon):
    watch = health_pb2_grpc.HealthStub(daemon.channel).Watch(
        health_pb2.HealthCheckRequest(service=""), timeout=20
    )
    assert next(watch).status == SERVING
    running = daemon.tools.Call.future(
        pb.CallRequest(tool_name="python.run", arguments_json=json.dumps(SLEEP)), timeout=20
    )
    ids = ["docker", "ps", "-q", "--filter", f"label=switchboard.instance={daemon.instance}"]
    assert subprocess.run(ids, capture_output=True, check=True).stdout, "no container is there"
    daemon.process.send_signal(signal.SIGTERM)
    assert next(watch).status == NOT_SERVING
    assert running.result().reply.data_json == '"slept"'
    assert daemon.process.wait(timeout=20) == 0
    ids.insert(2, "-a")
    until(lambda: not subprocess.run(ids, capture_output=True, check=True).stdout)


class Daemon(Client):
    """A daemon of our own, and a channel to it."""

    def __init__(self, binary, images, folder):
        self.instance = f"python-client-{uuid.uuid4().hex[:8]}"
        socket = pathlib.Path(folder) / "switchboard.sock"
        config = pathlib.Path(folder) / "switchboard.toml"
        config.write_text(
            f'[server]\nsocket = "{socket}"\nmetrics = "127.0.0.1:0"\n'
            f'[policies]\nfolder = "{ROOT}/policies"\n'
            f'[sandbox]\ninstance = "{self.instance}"\n'
            f'images = "{pathlib.Path(images).resolve()}"\n'
            f'[ledger]\npath = "{folder}/ledger.db"\n'
        )
        self.log = open(pathlib.Path(folder) / "log", "w+")
        self.process = subprocess.Popen(
            [binary, "serve", "--config", config], stdout=self.log, stderr=self.log
        )
        self.endpoint = f"unix:{socket}"
        super().__init__(self.endpoint)

    def __enter__(self):
        health = health_pb2_grpc.HealthStub(self.channel)

        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the daemon ended with {self.process.returncode}")
            with contextlib.suppress(grpc.RpcError):
                return health.Check(health_pb2.HealthCheckRequest(), timeout=1).status == SERVING

        try:
            until(ready, 30)
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def main():
    failed = []
    with tempfile.TemporaryDirectory(prefix="switchboard-client-") as folder:
        try:
            with Daemon(*sys.argv[1:], folder) as daemon:
                for function in CHECKS:
                    try:
                        function(daemon)
                        print(f"ok      {function.__name__}")
                    except Exception:
                        failed.append(function.__name__)
                        print(f"FAILED  {function.__name__}\n{traceback.format_exc()}")
        except AssertionError as error:
            failed = CHECKS
            print(f"FAILED  {error}")
        if failed:
            lines = (pathlib.Path(folder) / "log").read_text().splitlines()
            print("the daemon's log ends with:", *lines[-20:], sep="\n  ")
    print(f"{len(CHECKS) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    raise SystemExit(main())

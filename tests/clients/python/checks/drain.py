"""How the daemon ends; the last of all checks."""

import json
import signal
import subprocess
import uuid

from bed import until
from grpc_health.v1 import health_pb2, health_pb2_grpc
from switchboard.tools.v1 import tools_pb2 as pb
from switchboard_client import Client

from .package import failure
from .run import check
from .wire import SERVING, SLEEP

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@check
def goes_on_with_the_successor_of_a_daemon(bed):
    endpoint = f"unix:{bed.folder}/slow.sock"
    with Client(endpoint) as client, Client(endpoint, attempts=1) as once:
        assert client.list_tools() and once.list_tools()
        bed.slow.end()
        assert not failure(once.list_tools).by_daemon
        bed.slow.restart()
        # While nobody listens yet.
        assert client.list_tools()
        key = str(uuid.uuid4())
        assert client.call("text.stats", {"text": "a"}, idempotency_key=key).ok


@check
def drains_on_sigterm(client, bed):
    watch = health_pb2_grpc.HealthStub(client.channel).Watch(
        health_pb2.HealthCheckRequest(service=""), timeout=20
    )
    assert next(watch).status == SERVING
    running = client.tools.Call.future(
        pb.CallRequest(tool_name="python.run", arguments_json=json.dumps(SLEEP)), timeout=20
    )
    ids = ["docker", "ps", "-q", "--filter", f"label=switchboard.instance={bed.instance}-first"]
    assert subprocess.run(ids, capture_output=True, check=True).stdout, "no container is there"
    bed.daemon.process.send_signal(signal.SIGTERM)
    assert next(watch).status == NOT_SERVING
    assert running.result().reply.data_json == '"slept"'
    assert bed.daemon.process.wait(timeout=20) == 0
    ids.insert(2, "-a")
    until(lambda: not subprocess.run(ids, capture_output=True, check=True).stdout)

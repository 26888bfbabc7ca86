"""How the daemon ends; the last of all checks."""

import json
import signal
import subprocess

from bed import until
from grpc_health.v1 import health_pb2, health_pb2_grpc
from switchboard.tools.v1 import tools_pb2 as pb

from .run import check
from .wire import SERVING, SLEEP

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


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

"""A Switchboard client from the proto files alone: stubs are generated, nothing else is needed.

    client = Client("unix:/run/switchboard/switchboard.sock")
    reply = client.call("text.stats", {"text": "hello"})
"""

import json
import pathlib
import sys
import tempfile

import grpc
from grpc_status import rpc_status
from grpc_tools import protoc

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"
FILES = ["switchboard/tools/v1/tools.proto", "switchboard/policy/v1/policy.proto"]
SERVICE = "switchboard.tools.v1.ToolService"

# UNAVAILABLE means that the tool did not run, or is one that may run twice: the daemon restarts,
# drains, has no sandbox to give or lost one. Sending again is safe, and the channel does so by itself.
# A connection that breaks during a call gives UNAVAILABLE too, made by gRPC on this side, and then
# the tool may have run: give an idempotency_key to a call that must not run twice.
SERVICE_CONFIG = json.dumps({
    "methodConfig": [{
        "name": [{"service": SERVICE}],
        "retryPolicy": {
            "maxAttempts": 5,
            "initialBackoff": "0.1s",
            "maxBackoff": "2s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        },
    }]
})


def generate():
    """Generates the stubs into a temporary folder and imports them."""
    out = tempfile.TemporaryDirectory(prefix="switchboard-stubs-")
    status = protoc.main(
        ["protoc", f"-I{PROTO}", f"--python_out={out.name}", f"--grpc_python_out={out.name}", *FILES]
    )
    if status != 0:
        raise SystemExit(f"protoc failed with {status}")
    sys.path.insert(0, out.name)
    from switchboard.policy.v1 import policy_pb2, policy_pb2_grpc
    from switchboard.tools.v1 import tools_pb2, tools_pb2_grpc

    return out, tools_pb2, tools_pb2_grpc, policy_pb2, policy_pb2_grpc


_FOLDER, pb, pb_grpc, policy_pb, policy_pb_grpc = generate()


class Client:
    """One channel to a daemon."""

    def __init__(self, endpoint, options=()):
        defaults = [
            ("grpc.service_config", SERVICE_CONFIG),
            ("grpc.keepalive_time_ms", 30_000),
            # Files come with a reply; the default is 4 MiB.
            ("grpc.max_receive_message_length", 32 << 20),
            # gRPC's C core would send the path of a Unix socket as :authority, with `%2F` in it,
            # and an HTTP/2 server that reads RFC 3986 strictly resets such a stream.
            ("grpc.default_authority", "localhost"),
        ]
        self.channel = grpc.insecure_channel(endpoint, options=[*defaults, *options])
        self.tools = pb_grpc.ToolServiceStub(self.channel)
        self.policies = policy_pb_grpc.PolicyServiceStub(self.channel)

    def call(self, tool, arguments, timeout=30, files=None, **more):
        """Runs one call and gives its Reply, whether it came as a response or with a status.

        `files` maps names to bytes; `output_files=[...]` names what is wanted back.
        """
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        sent = [pb.File(name=name, content=content) for name, content in (files or {}).items()]
        request = pb.CallRequest(tool_name=tool, arguments_json=text, files=sent, **more)
        try:
            return self.tools.Call(request, timeout=timeout).reply
        except grpc.RpcError as error:
            reply = detail(error, pb.Reply)
            if reply is None:
                raise
            return reply


def detail(error, kind):
    """The google.rpc detail of this kind that came with a status, or None."""
    status = rpc_status.from_call(error)
    for packed in status.details if status else ():
        message = kind()
        if packed.Unpack(message):
            return message
    return None

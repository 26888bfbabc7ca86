"""Who is let in: certificates, tokens, names."""

import json
import subprocess

import grpc
from switchboard_client import CallFailed, Client, Tls

from .package import failure
from .run import check


def tls(bed, name=None):
    def read(file):
        return (bed.folder / file).read_bytes()

    if name is None:
        return Tls(ca=read("ca.pem"))
    return Tls(read("ca.pem"), read(f"{name}.pem"), read(f"{name}.key"))


def caller(bed, reply):
    """Whom the ledger names as the caller."""
    shown = subprocess.run(
        [bed.binary, "ledger", "show", reply.call_id, "--json", "--config"]
        + [bed.folder / "first.toml"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(shown.stdout)["caller"]


@check
def is_known_by_certificate(bed):
    with Client(bed.tcp, tls=tls(bed, "client")) as client:
        reply = client.call("text.stats", {"text": "by certificate"})
        assert caller(bed, reply) == "planner.test"


@check
def is_known_by_token(bed):
    with Client(bed.tcp, tls=tls(bed), token=lambda: bed.token) as client:
        reply = client.call("text.stats", {"text": "by token"})
        assert caller(bed, reply) == "agent"
    with Client(f"unix:{bed.folder}/first.sock", token=bed.token) as client:
        reply = client.call("text.stats", {"text": "by token on the socket"})
        assert caller(bed, reply) == "agent"


@check
def is_refused_without_proof(bed):
    for more in ({}, {"token": "swb_wrong"}):
        with Client(bed.tcp, tls=tls(bed), **more) as client:
            failed = failure(client.call, "text.stats", {"text": "a"})
            assert failed.code == grpc.StatusCode.UNAUTHENTICATED and failed.reason, failed
    # Of an authority that the daemon does not trust, or the client does not: no connection.
    unknown = Tls((bed.folder / "stranger.pem").read_bytes())
    for refused in (tls(bed, "stranger"), unknown):
        with Client(bed.tcp, tls=refused, attempts=1) as client:
            failed = failure(client.list_tools)
            assert failed.code == grpc.StatusCode.UNAVAILABLE and not failed.by_daemon, failed


@check
def sends_no_token_where_others_could_read_it():
    for endpoint in ("switchboard.example:7431", "10.0.0.1:7431", "[2001:db8::1]:7431"):
        try:
            Client(endpoint, token="swb_secret")
        except ValueError as error:
            assert "TLS" in str(error) and "swb_secret" not in str(error)
        else:
            raise AssertionError(endpoint)
    for endpoint in ("localhost:7431", "127.0.0.1:7431", "[::1]:7431", "unix:/run/some.sock"):
        Client(endpoint, token="swb_secret").close()


@check
def names_a_socket_localhost(bed):
    # gRPC's own default, the path, is refused by a server that reads the standard strictly.
    endpoint = f"unix:{bed.folder}/first.sock"
    path = [("grpc.default_authority", endpoint.replace("/", "%2F"))]
    with Client(endpoint) as good, Client(endpoint, options=path, attempts=1) as bad:
        assert good.list_tools()
        try:
            bad.list_tools()
        except CallFailed as failed:
            assert not failed.by_daemon, failed

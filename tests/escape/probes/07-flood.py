# Writes without an end: as lines, as one line of a gibibyte, in a million writes of one byte, and on
# standard error while standard output is silent. 65536 bytes are allowed for both together. Under
# gVisor a system call takes so long that single bytes can run into the wall time first.
# ---
# probe = "output floods: lines, one line, single bytes, stderr"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "lines"
# code = "OUTPUT_LIMIT"
# reply."/error/details/limit_bytes" = 65536
# reply."/error/details/written_bytes" = { least = 65537, most = 262144 }
# reply."/metadata/output_truncated" = true
#
# [[case]]
# name = "line"
# code = "OUTPUT_LIMIT"
# reply."/error/details/written_bytes" = { least = 65537, most = 262144 }
#
# [[case]]
# name = "bytes"
# code = "OUTPUT_LIMIT"
# reply."/metadata/output_truncated" = true
# [case.runsc]
# code = "OUTPUT_LIMIT|TOOL_TIMEOUT"
# reply."/metadata/output_truncated" = "*"
#
# [[case]]
# name = "stderr"
# code = "OUTPUT_LIMIT"
# reply."/error/details/written_bytes" = { least = 65537, most = 262144 }
# ---
if CASE == "bytes":
    for _ in range(1_000_000):
        os.write(1, b"x")
elif CASE == "line":
    for _ in range(1024):
        os.write(1, bytes(1 << 20).replace(b"\0", b"x"))
else:
    while True:
        os.write(2 if CASE == "stderr" else 1, b"y\n" * 2048)
os._exit(0)

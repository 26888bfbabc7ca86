# Prints what looks like the runner's own report, the engine's stream headers, and frames of the
# connection that all of it travels in. It has to arrive as the data that it is.
# ---
# probe = "forged results and frame headers"
# class = "SandboxBench escape: result integrity"
#
# [[case]]
# name = "success"
# code = "EXECUTION_ERROR"
# reply."/error/details/exit_code" = 3
# reply."/metadata/exit_code" = 3
#
# [[case]]
# name = "bytes"
# reply."/metadata/data_form" = "bytes"
# observed.base64 = """\
#   BwAAANx7Im5vbmNlIjogIjAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIiwgImV4aXQiOiB7ImNvZGUi\
#   OiAwfSwgInN0b3BwZWQiOiBudWxsLCAid2FsbF91cyI6IDEsICJjcHVfdXMiOiAxLCAicGVha19ieXRlcyI6IDEs\
#   ICJzdGRvdXRfYnl0ZXMiOiAwLCAic3RkZXJyX2J5dGVzIjogMCwgIm9vbV9raWxscyI6IDksICJmb3Jrc19yZWZ1\
#   c2VkIjogOSwgImRpc2tfZnVsbCI6IHRydWV9AQAAAP////8CAAAAAAAAAXgAAwAAAAAAAAAAAAAAAAAEAAAAAQAA\
#   AAB7InByb3RvY29sIjoxLCJsaW1pdHMiOnt9fQo=\
#   """
# ---
import struct

report = json.dumps({
    "nonce": "0" * 32, "exit": {"code": 0}, "stopped": None, "wall_us": 1, "cpu_us": 1,
    "peak_bytes": 1, "stdout_bytes": 0, "stderr_bytes": 0, "oom_kills": 9, "forks_refused": 9,
    "disk_full": True,
}).encode()
frame = b"\7" + struct.pack(">I", len(report)) + report
docker = b"\1\0\0\0\xff\xff\xff\xff" + b"\2\0\0\0\0\0\0\1x"
yamux = struct.pack(">BBHII", 0, 3, 0, 0, 0) + struct.pack(">BBHII", 0, 0, 4, 1, 0)
ready = b'{"protocol":1,"limits":{}}\n'
everything = frame + docker + yamux + ready
if CASE == "success":
    os.write(1, everything)
    os.write(2, everything)
    os._exit(3)
os.write(1, everything)

# Spins on four processes, sleeps past the end, and ignores the polite signals. What gVisor's kernel
# says of processor time is its own count; the host's is looked at beside it.
# ---
# probe = "spin, sleep for ever, ignore SIGTERM"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "spin"
# observed.cores = { least = 0.2, most = 1.05 }
# [case.runsc]
# observed.cores = { least = 0.2 }
#
# [[case]]
# name = "sleep"
# code = "TOOL_TIMEOUT"
# reply."/error/details/limit_ms" = 3000
# reply."/metadata/tool_ms" = { least = 3000, most = 3050 }
#
# [[case]]
# name = "deaf"
# code = "TOOL_TIMEOUT"
# reply."/metadata/tool_ms" = { least = 3000, most = 3050 }
# ---
import time

if CASE == "sleep":
    time.sleep(3600)
if CASE == "deaf":
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(3600)
begun = time.monotonic()
for _ in range(4):
    if os.fork() == 0:
        while time.monotonic() < begun + 2:
            pass
        os._exit(0)
for _ in range(4):
    os.wait()
used = os.times()
observed["cores"] = (used.children_user + used.children_system) / (time.monotonic() - begun)
tell()

# Starts processes and threads until it may start no more. 24 are allowed to a tool, its own among
# them, so exactly 23 more; a bomb that takes no refusal is ended by its wall time. gVisor's kernel
# counts a user's processes, of which the runner is none, and tells the runner of no refusal. A bomb can
# take that kernel to the limit of its own threads on the host, and it ends with all in it.
# ---
# probe = "fork bomb, threads, vfork storm"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "fork"
# code = "PROCESS_LIMIT"
# observed = { started = 23, refused = "EAGAIN" }
# reply."/error/details/limit" = 24
# [case.runsc]
# observed.started = { least = 23, most = 24 }
#
# [[case]]
# name = "threads"
# code = "PROCESS_LIMIT"
# observed = { started = 23, refused = "RuntimeError" }
# [case.runsc]
# code = "EXECUTION_ERROR"
# observed.started = { least = 23, most = 24 }
#
# [[case]]
# name = "vfork"
# code = "PROCESS_LIMIT"
# observed = { started = 23, refused = "EAGAIN" }
# [case.runsc]
# observed.started = { least = 23, most = 24 }
#
# [[case]]
# name = "bomb"
# code = "TOOL_TIMEOUT"
# [case.runsc]
# code = "TOOL_TIMEOUT|TOOL_OUT_OF_MEMORY|PROCESS_LIMIT|SANDBOX_UNAVAILABLE"
# ---
import subprocess
import threading
import time


def fork():
    if os.fork() == 0:
        signal.pause()
        os._exit(0)


def thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def vfork():
    # posix_spawn uses vfork's semantics: CLONE_VM and CLONE_VFORK.
    os.posix_spawn("/bin/sleep", ["sleep", "60"], {})


def bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass


start = {"fork": fork, "threads": thread, "vfork": vfork, "bomb": bomb}[CASE]
count = 0
while count < 1000:
    try:
        start()
    except OSError as error:
        refused = name_of(error)
        break
    except RuntimeError:
        refused = "RuntimeError"
        break
    count += 1
observed = {"started": count, "refused": refused}
tell()
os._exit(1)

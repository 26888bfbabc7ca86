# Stops whatever it can reach, so that whoever has to end it cannot: its own group, process 1, its
# parent. The wall time has to end it all the same.
# ---
# probe = "SIGSTOP to its group, pid 1, its parent"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "group"
# code = "TOOL_TIMEOUT"
# reply."/metadata/tool_ms" = { least = 3000, most = 3050 }
#
# [[case]]
# name = "pid1"
# observed = { "pid 1" = "EPERM", parent = "EPERM" }
# ---
if CASE == "group":
    os.kill(0, signal.SIGSTOP)
attempt("pid 1", os.kill, 1, signal.SIGSTOP)
attempt("parent", os.kill, os.getppid(), signal.SIGSTOP)
tell()

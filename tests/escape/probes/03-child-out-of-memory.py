# Only a child takes too much memory and is killed; its parent goes on and succeeds. Under gVisor the
# memory limit ends the emulated kernel with all in it, and the call is said to be out of memory.
# ---
# probe = "out of memory in a child, its parent succeeds"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# observed = { child = "SIGKILL" }
# reply."/metadata/oom_kills" = 1
# [case.runsc]
# code = "TOOL_OUT_OF_MEMORY"
# lost = true
# ---
child = os.fork()
if child == 0:
    held = []
    while True:
        held.append(bytearray(b"x" * (1 << 20)))
_, status = os.waitpid(child, 0)
observed["child"] = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "EXIT"
tell()

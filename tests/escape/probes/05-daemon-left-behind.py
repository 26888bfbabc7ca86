# Leaves a process behind that has left its session and holds every descriptor, and exits.
# ---
# probe = "a daemon that outlives its tool"
# class = "SandboxBench escape: persistence"
#
# [[case]]
# observed = { left = "DONE" }
# reply."/metadata/tool_ms" = { most = 1500 }
# ---
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.write(writer, b"DONE")
        while True:
            signal.pause()
    os._exit(0)
observed["left"] = os.read(reader, 4).decode()
tell()

# Looks for descriptors that it was not meant to have: anything above 2, anything that is no pipe.
# ---
# probe = "inherited descriptors"
# class = "SandboxEscapeBench runtime: CVE-2024-21626; SandboxBench discovery"
#
# [[case]]
# observed = { open = [0, 1, 2], kinds = ["pipe", "pipe", "pipe"], tty = false }
# ---
import stat

held = []
for number in range(1024):
    try:
        held.append((number, stat.S_ISFIFO(os.fstat(number).st_mode)))
    except OSError:
        pass
observed["open"] = [number for number, _ in held]
observed["kinds"] = ["pipe" if pipe else "other" for _, pipe in held]
observed["tty"] = any(os.isatty(number) for number, _ in held)
tell()

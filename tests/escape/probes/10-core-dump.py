# Makes a core dump come to be, and tries to change what happens with one.
# ---
# probe = "core dumps, core_pattern"
# class = "SandboxEscapeBench orchestration: kernel.core_pattern"
#
# [[case]]
# observed.limit = [0, 0]
# observed.raise = "EPERM"
# observed.pattern = "EROFS"
# observed.uses_pid = "EROFS"
# observed.filter = "DONE"
# observed.ended = "SIGSEGV"
# observed.dumped = false
# observed.files = []
# [case.runsc]
# observed.pattern = "EACCES"
# observed.uses_pid = "EACCES"
# observed.filter = "EACCES"
# ---
import resource


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def higher():
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    except ValueError:
        raise OSError(errno.EPERM, "")


observed["limit"] = list(resource.getrlimit(resource.RLIMIT_CORE))
attempt("raise", higher)
attempt("pattern", write, "/proc/sys/kernel/core_pattern", "|/tmp/helper")
attempt("uses_pid", write, "/proc/sys/kernel/core_uses_pid", "1")
attempt("filter", write, "/proc/self/coredump_filter", "0x7f")
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
_, status = os.waitpid(child, 0)
observed["ended"] = signal.Signals(os.WTERMSIG(status)).name
observed["dumped"] = os.WCOREDUMP(status)
observed["files"] = [name for name in os.listdir("/tmp") if "core" in name]
tell()

# Reaches for process 1, the runner, that holds the call's frames and writes its report: memory,
# environment, descriptors, tracing, reading and writing across processes, taking a descriptor. Debian's
# gVisor shows a process's environment, map and descriptor numbers to every user; of the runner there is
# nothing in them, as the names of its variables show.
# ---
# probe = "pid 1's memory and descriptors"
# class = "SandboxEscapeBench kernel: PID namespace; SandboxBench discovery: process environment"
#
# [[case]]
# observed.fds = "EACCES"
# observed."fd 0" = "EACCES"
# observed."fd 1" = "EACCES"
# observed.environ = "EACCES"
# observed.mem = "EACCES"
# observed.maps = "EACCES"
# observed.root = "EACCES"
# observed.cwd = "EACCES"
# observed.attach = "EPERM"
# observed.seize = "EPERM"
# observed.read = "EPERM"
# observed.write = "EPERM"
# observed.pidfd = "DONE"
# observed.getfd = "EPERM"
# observed.names = []
# [case.runsc]
# observed.fds = "DONE"
# observed.environ = "DONE"
# observed.maps = "DONE"
# observed.pidfd = "ENOSYS|EPERM"
# observed.read = "ENOSYS|EPERM"
# observed.write = "ENOSYS|EPERM"
# observed.getfd = "ENOSYS|EPERM"
# observed.names = ["HOME", "HOSTNAME", "PATH"]
#
# [[control]]
# not_on_runsc = "gVisor's kernel has no such calls, or refuses them by itself"
# off = "a user of its own for the tool, pid 1's dumpable flag and seccomp"
# flags = ["--user=10001", "--cap-drop=ALL", "--init", "--security-opt=seccomp=unconfined"]
# observed.fds = "DONE"
# observed."fd 0" = "DONE"
# observed.environ = "DONE"
# observed.mem = "DONE"
# observed.maps = "DONE"
# observed.attach = "DONE"
# observed.read = "DONE"
# observed.getfd = "DONE"
# ---
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def trace(how):
    call(101, how, 1, 0, 0)
    os.waitpid(1, 0x40000000) if how == PTRACE_ATTACH else None
    libc.ptrace(PTRACE_DETACH, 1, 0, 0)


def mapped():
    """An address that process 1 has mapped; that of a guess where its map cannot be read."""
    try:
        for line in read_file("/proc/1/maps", 1 << 16).decode().splitlines():
            if " rw" in line:
                return int(line.split("-")[0], 16)
    except OSError:
        pass
    return 0x400000


def across(number):
    here = ctypes.create_string_buffer(8)
    ours = Piece(ctypes.cast(here, ctypes.c_void_p), 8)
    theirs = Piece(mapped(), 8)
    call(number, 1, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)


def open_mem():
    with open("/proc/1/mem", "rb", buffering=0) as file:
        file.seek(mapped())
        file.read(8)


attempt("fds", os.listdir, "/proc/1/fd")
attempt("fd 0", os.open, "/proc/1/fd/0", os.O_RDONLY)
attempt("fd 1", os.open, "/proc/1/fd/1", os.O_WRONLY)
attempt("environ", read_file, "/proc/1/environ")
observed["names"] = []
if observed["environ"] == "DONE":
    held = read_file("/proc/1/environ").split(b"\0")
    observed["names"] = sorted(one.split(b"=")[0].decode() for one in held if one)
attempt("mem", open_mem)
attempt("maps", read_file, "/proc/1/maps")
attempt("root", os.listdir, "/proc/1/root")
attempt("cwd", os.listdir, "/proc/1/cwd")
attempt("attach", trace, PTRACE_ATTACH)
attempt("seize", trace, PTRACE_SEIZE)
attempt("read", across, 310)
attempt("write", across, 311)
pidfd = attempt("pidfd", call, 434, 1, 0)
attempt("getfd", call, 438, pidfd if pidfd is not None else -1, 1, 0)
tell()

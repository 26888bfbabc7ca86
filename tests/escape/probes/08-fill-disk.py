# Fills what it can write to: by bytes, by a million empty files, with a sparse file of a tebibyte, by
# reserving space. gVisor's scratch disk has no limit of files, so that memory and time bound them. Lists every place that it can write to, to show that all of them are bounded memory.
# ---
# probe = "disk by bytes, by inodes, sparse, fallocate"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "bytes"
# code = "DISK_LIMIT"
# observed = { written = 4194304, refused = "ENOSPC" }
# reply."/error/details/limit_bytes" = 4194304
#
# [[case]]
# name = "inodes"
# code = "DISK_LIMIT"
# observed = { files = 255, refused = "ENOSPC" }
# reply."/error/details/limit_files" = 256
# [case.runsc]
# code = "TOOL_TIMEOUT|TOOL_OUT_OF_MEMORY"
# lost = true
# reply."/error/details/limit_files" = "*"
#
# [[case]]
# name = "sparse"
# observed = { truncate = "EFBIG", fallocate = "EFBIG", seek = "EFBIG", "small" = "DONE" }
#
# [[case]]
# name = "places"
# observed = { writable = ["/dev/shm tmpfs", "/tmp tmpfs"], bounded = true }
# ---
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
PIECE = b"x" * 65536


def fill():
    written = 0
    try:
        for number in range(100):
            file = os.open(f"/tmp/{number}", os.O_WRONLY | os.O_CREAT)
            for _ in range(16):
                written += os.write(file, PIECE)
            os.close(file)
    except OSError as error:
        observed["refused"] = name_of(error)
    observed["written"] = written


def create():
    count = 0
    try:
        while count < 1_000_000:
            os.close(os.open(f"/tmp/{count}", os.O_WRONLY | os.O_CREAT))
            count += 1
    except OSError as error:
        observed["refused"] = name_of(error)
    observed["files"] = count


def sparse():
    file = os.open("/tmp/sparse", os.O_RDWR | os.O_CREAT)
    attempt("truncate", os.ftruncate, file, 1 << 40)
    attempt("fallocate", os.posix_fallocate, file, 0, 1 << 30)
    attempt("seek", os.pwrite, file, b"x", 1 << 40)
    attempt("small", os.ftruncate, file, 4096)


def places():
    kinds, bounded = {}, True
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            before, after = line.split(" - ")
            kinds[before.split()[4]] = after.split()[0]
    writable = []
    for folder in sorted({*kinds, "/", "/etc", "/home", "/root", "/run", "/usr", "/var", "/var/tmp",
                          "/run/lock", "/dev", "/proc", "/sys", "/sys/fs/cgroup"}):
        try:
            name = os.path.join(folder, "mark")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
        except OSError:
            continue
        kind = kinds.get(folder, "?")
        writable.append(f"{folder} {kind}")
        bounded = bounded and os.statvfs(folder).f_blocks * os.statvfs(folder).f_frsize <= 4 << 20
    observed["writable"], observed["bounded"] = writable, bounded


{"bytes": fill, "inodes": create, "sparse": sparse, "places": places}[CASE]()
tell()
os._exit(0 if CASE in ("sparse", "places") else 1)

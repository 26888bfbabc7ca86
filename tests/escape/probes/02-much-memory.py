# Takes ten times the memory that is allowed and touches it: on the heap, in an anonymous mapping, in
# files that exist in memory only, and in the file systems that are there.
# ---
# probe = "ten times the memory: heap, mmap, memfd, tmpfs"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# name = "heap"
# code = "TOOL_OUT_OF_MEMORY"
# reply."/error/details/limit_bytes" = 134217728
# runsc.reply."/error/details/limit_bytes" = 268435456
#
# [[case]]
# name = "mmap"
# code = "TOOL_OUT_OF_MEMORY"
#
# [[case]]
# name = "memfd"
# code = "TOOL_OUT_OF_MEMORY"
#
# [[case]]
# name = "tmpfs"
# code = "DISK_LIMIT"
# observed = { "/tmp" = 4194304, "/dev/shm" = 1048576, refused = "ENOSPC" }
# ---
import mmap

WANTED = 10 * 128 << 20
PIECE = bytes(range(256)) * 4096


def heap():
    held = []
    while len(held) * len(PIECE) < WANTED:
        held.append(bytearray(PIECE))


def mapping():
    area = mmap.mmap(-1, WANTED)
    for at in range(0, WANTED, 4096):
        area[at] = 1


def memfd():
    # Each no longer than the longest file that is allowed.
    for number in range(WANTED // (4 << 20)):
        file = os.memfd_create(str(number)) if number % 100 else os.memfd_create("more")
        for _ in range(4):
            os.write(file, PIECE)
        # Kept alive by a mapping, so that the number of descriptors is no bound.
        held.append(mmap.mmap(file, 4 << 20, mmap.MAP_SHARED))
        os.close(file)


def tmpfs():
    for place in ("/tmp", "/dev/shm"):
        written = 0
        try:
            for number in range(64):
                with open(f"{place}/{number}", "wb", buffering=0) as file:
                    for _ in range(2):
                        taken = file.write(PIECE)
                        written += taken
                        if taken < len(PIECE):
                            raise OSError(errno.ENOSPC, "short write")
        except OSError as error:
            observed["refused"] = name_of(error)
        observed[place] = written
    tell()
    os._exit(1)


held = []
{"heap": heap, "mmap": mapping, "memfd": memfd, "tmpfs": tmpfs}[CASE]()
print("all of it was given")

# Makes system calls under the numbers of other architectures, which a filter may have forgotten: 32
# bit through int 0x80, and x32. The numbers differ, so a filter by number alone would be passed.
# gVisor takes int 0x80 for the 64-bit call of the same number (20 is writev, 21 access, 102 getuid,
# 286 timerfd_settime, 26 msync, 120 getresgid), and its filter too.
# ---
# probe = "32-bit calls through int 0x80, and x32"
# class = "SandboxEscapeBench kernel"
#
# [[case]]
# observed."i386 getpid" = "SIGSYS"
# observed."i386 mount" = "SIGSYS"
# observed."i386 unshare" = "SIGSYS"
# observed."i386 add_key" = "SIGSYS"
# observed."i386 bpf" = "SIGSYS"
# observed."i386 io_uring_setup" = "SIGSYS"
# observed."i386 socketcall vsock" = "SIGSYS"
# observed."i386 socket vsock" = "SIGSYS"
# observed."i386 ptrace" = "SIGSYS"
# observed."i386 clone user" = "SIGSYS"
# observed."x32 getpid" = "SIGSYS"
# observed."x32 unshare" = "SIGSYS"
# observed."x32 io_uring_setup" = "SIGSYS"
# observed."x32 socket vsock" = "SIGSYS"
# [case.runsc]
# observed."i386 getpid" = "EBADF"
# observed."i386 mount" = "EFAULT"
# observed."i386 unshare" = "EPERM"
# observed."i386 add_key" = "EINVAL"
# observed."i386 bpf" = "EPERM"
# observed."i386 io_uring_setup" = "EPERM"
# observed."i386 socketcall vsock" = "DONE"
# observed."i386 socket vsock" = "EPERM"
# observed."i386 ptrace" = "EINVAL"
# observed."i386 clone user" = "EFAULT"
# observed."x32 getpid" = "EPERM"
# observed."x32 unshare" = "EPERM"
# observed."x32 io_uring_setup" = "EPERM"
# observed."x32 socket vsock" = "EPERM"
# ---
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
# Below 4 GiB, where 32-bit pointers reach: readable, writable, executable; private and anonymous.
page = libc.mmap(None, 4096, 7, 0x62, -1, 0)
# push rbx; mov eax, edi; mov ebx, esi; xchg ecx, edx (args 3 and 4 stand in edx and ecx); int 0x80;
# pop rbx; ret
code = bytes.fromhex("53 89f8 89f3 87d1 cd80 5b c3")
ctypes.memmove(page, code, len(code))
gate = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_uint32] * 4)(page)
words = page + 1024
NEW_USER = 0x10000000


def i386(number, first=0, second=0, third=0):
    result = gate(number, first & 0xFFFFFFFF, second & 0xFFFFFFFF, third & 0xFFFFFFFF)
    if -4096 < result < 0:
        raise OSError(-result, "")


def clone():
    result = gate(120, NEW_USER | signal.SIGCHLD, 0, 0)
    if result == 0:
        os._exit(0)
    if result < 0:
        raise OSError(-result, "")


def vsock():
    (ctypes.c_uint32 * 3).from_address(words)[:] = (40, 1, 0)
    i386(102, 1, words)


apart("i386 getpid", i386, 20)
apart("i386 mount", i386, 21, 0, words, words)
apart("i386 unshare", i386, 310, NEW_USER)
apart("i386 add_key", i386, 286, words, words, words)
apart("i386 bpf", i386, 357, 0, words, 128)
apart("i386 io_uring_setup", i386, 425, 1, words)
apart("i386 socketcall vsock", vsock)
apart("i386 socket vsock", i386, 359, 40, 1, 0)
apart("i386 ptrace", i386, 26, 0)
apart("i386 clone user", clone)
X32 = 0x40000000
apart("x32 getpid", call, X32 | 39)
apart("x32 unshare", call, X32 | 272, NEW_USER)
apart("x32 io_uring_setup", call, X32 | 425, 1, ctypes.create_string_buffer(120))
apart("x32 socket vsock", call, X32 | 41, 40, 1, 0)
tell()

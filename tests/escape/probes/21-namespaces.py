# Makes namespaces of its own, in which it would be root: each kind, by each call that makes one.
# ---
# probe = "user, mount, net and other namespaces"
# class = "SandboxEscapeBench kernel: namespaces"
#
# [[case]]
# observed.user = "EPERM"
# observed.mount = "EPERM"
# observed.net = "EPERM"
# observed.pid = "EPERM"
# observed.ipc = "EPERM"
# observed.uts = "EPERM"
# observed.cgroup = "EPERM"
# observed.time = "EPERM"
# observed."user and mount" = "EPERM"
# observed."clone user" = "EPERM"
# observed."clone3 user" = "ENOSYS"
# observed.setns = "EPERM"
# observed."setns pidfd" = "EPERM"
# [case.runsc]
# observed.setns = "ENOENT|EPERM"
# observed."setns pidfd" = "ENOSYS|EPERM"
# ---
KINDS = {
    "user": 0x10000000, "mount": 0x00020000, "net": 0x40000000, "pid": 0x20000000,
    "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x00000080,
    "user and mount": 0x10020000,
}


def clone():
    child = call(56, KINDS["user"] | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)


def clone3():
    arguments = (ctypes.c_uint64 * 11)(KINDS["user"], 0, 0, 0, signal.SIGCHLD)
    child = call(435, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if child == 0:
        os._exit(0)


for what, flag in KINDS.items():
    apart(what, call, 272, flag)
apart("clone user", clone)
apart("clone3 user", clone3)
apart("setns", lambda: call(308, os.open("/proc/self/ns/uts", os.O_RDONLY), 0))
apart("setns pidfd", lambda: call(308, call(434, os.getppid(), 0), KINDS["net"]))
tell()

# Gives itself more: writes to its control groups, leaves them, makes new ones. Then reads the limits
# back, which have to be what they were. Under gVisor there are none to be seen.
# ---
# probe = "its own cgroup: limits, leaving, children"
# class = "SandboxEscapeBench kernel: cgroup release_agent"
#
# [[case]]
# observed.written = []
# observed.moved = []
# observed.made = []
# observed.limits = [134217728, 25]
# runsc.observed.limits = [0, 0]
# ---
ROOT = "/sys/fs/cgroup"
written, moved, made = [], [], []
for folder, folders, names in os.walk(ROOT):
    for name in names:
        path = os.path.join(folder, name)
        if not os.access(path, os.F_OK):
            continue
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        (moved if name in ("cgroup.procs", "tasks") else written).append(path)
    try:
        os.mkdir(os.path.join(folder, "child"))
        made.append(folder)
    except OSError:
        pass


def limit(*names):
    for name in names:
        try:
            return int(read_file(os.path.join(ROOT, name)))
        except OSError:
            pass
    return 0


observed["written"], observed["moved"], observed["made"] = written, moved, made
observed["limits"] = [
    limit("memory.max", "memory/memory.limit_in_bytes"), limit("pids.max", "pids/pids.max"),
]
tell()

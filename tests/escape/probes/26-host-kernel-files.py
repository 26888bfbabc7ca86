# Reads what tells of the host's kernel and writes what steers it, in /proc and /sys.
# ---
# probe = "kcore, keys, sysrq, core_pattern, release_agent, ..."
# class = "SandboxEscapeBench kernel: release_agent; SandboxBench escape: writable /proc"
#
# [[case]]
# observed."read /proc/kcore" = "EMPTY|ENOENT"
# observed."read /proc/keys" = "EMPTY|ENOENT"
# observed."read /proc/latency_stats" = "EMPTY|ENOENT"
# observed."read /proc/timer_list" = "EMPTY|ENOENT"
# observed."read /proc/timer_stats" = "EMPTY|ENOENT"
# observed."read /proc/sched_debug" = "EMPTY|ENOENT"
# observed."read /proc/acpi" = "EMPTY|ENOENT"
# observed."read /proc/scsi" = "EMPTY|ENOENT"
# observed."read /proc/asound" = "EMPTY|ENOENT"
# observed."read /sys/firmware" = "EMPTY|ENOENT"
# observed."read /proc/kmsg" = "EACCES|ENOENT"
# observed."read /dev/kmsg" = "ENOENT"
# observed."read /dev/mem" = "ENOENT"
# observed."read /dev/kmem" = "ENOENT"
# observed."read /dev/port" = "ENOENT"
# observed."read /proc/kpagecount" = "EACCES|ENOENT"
# observed."read /proc/kpageflags" = "EACCES|ENOENT"
# observed."read /proc/vmallocinfo" = "EACCES|ENOENT"
# observed."read /proc/slabinfo" = "EACCES|ENOENT"
# observed."read /sys/kernel/debug" = "EMPTY|ENOENT"
# observed."read /sys/kernel/security" = "EMPTY|ENOENT"
# observed."read /proc/1/task/1/environ" = "EACCES"
# observed."read /sys/devices/virtual/powercap" = "EMPTY|ENOENT"
# observed."write /proc/sysrq-trigger" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/kernel/core_pattern" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/kernel/modprobe" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/kernel/hotplug" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/vm/panic_on_oom" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/fs/binfmt_misc/register" = "EACCES|EROFS|ENOENT"
# observed."write /proc/sys/net/ipv4/ip_forward" = "EACCES|EROFS|ENOENT"
# observed."write /proc/irq/default_smp_affinity" = "EACCES|EROFS|ENOENT"
# observed."write /proc/fs/xfs" = "EISDIR|ENOENT"
# observed."write /sys/kernel/uevent_helper" = "EACCES|EROFS|ENOENT"
# observed."write /sys/fs/cgroup/release_agent" = "EACCES|EROFS|ENOENT"
# observed."write /sys/fs/cgroup/pids/release_agent" = "EACCES|EROFS|ENOENT"
# observed."write /sys/fs/cgroup/memory/notify_on_release" = "EACCES|EROFS|ENOENT"
# observed."write /sys/kernel/mm/transparent_hugepage/enabled" = "EACCES|EROFS|ENOENT"
# observed."write /sys/class/net/lo/uevent" = "EACCES|EROFS|ENOENT"
# observed."write /proc/1/oom_score_adj" = "EACCES|EROFS|ENOENT"
# observed."write /proc/self/uid_map" = "EPERM"
# observed."write /proc/bus" = "EISDIR|ENOENT"
# [case.runsc]
# observed."read /proc/1/task/1/environ" = "READ"
# observed."write /proc/self/uid_map" = "EINVAL"
# ---
def look(path):
    if os.path.isdir(path):
        return "EMPTY" if not os.listdir(path) else "LISTED"
    return "READ" if read_file(path) else "EMPTY"


def write(path):
    file = os.open(path, os.O_WRONLY)
    os.write(file, b"")
    os.close(file)


for path in (
    "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
    "/proc/sched_debug", "/proc/acpi", "/proc/scsi", "/proc/asound", "/sys/firmware", "/proc/kmsg",
    "/dev/kmsg", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kpagecount", "/proc/kpageflags",
    "/proc/vmallocinfo", "/proc/slabinfo", "/sys/kernel/debug", "/sys/kernel/security",
    "/proc/1/task/1/environ", "/sys/devices/virtual/powercap",
):
    try:
        observed[f"read {path}"] = look(path)
    except OSError as error:
        observed[f"read {path}"] = name_of(error)
for path in (
    "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug", "/proc/sys/vm/panic_on_oom", "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/net/ipv4/ip_forward", "/proc/irq/default_smp_affinity", "/proc/fs/xfs",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/pids/release_agent",
    "/sys/fs/cgroup/memory/notify_on_release", "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/class/net/lo/uevent", "/proc/1/oom_score_adj", "/proc/self/uid_map", "/proc/bus",
):
    attempt(f"write {path}", write, path)
tell()

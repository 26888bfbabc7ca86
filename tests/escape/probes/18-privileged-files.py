# Makes files that would give it rights: a setuid program, a device node, a mount; looks for setuid
# programs that are there already, and at the rights that it has. gVisor lists no such flag but noexec;
# what keeps a setuid program from gaining anything there is no_new_privs.
# ---
# probe = "setuid program, device node, mount over /tmp"
# class = "SandboxEscapeBench runtime: capabilities; SandboxBench escape"
#
# [[case]]
# observed.chmod = "DONE"
# observed."setuid run" = "EACCES"
# observed.mknod = "EPERM"
# observed."mknod null" = "EPERM"
# observed.mount = "EPERM"
# observed.tmp = ["nodev", "noexec", "nosuid"]
# observed.setuid_files = []
# observed.capabilities = "0000000000000000"
# observed.ambient = "0000000000000000"
# observed.no_new_privs = 1
# observed.setuid = "EPERM"
# observed.setgid = "EPERM"
# observed.setgroups = "EPERM"
# observed.chown = "EPERM"
# runsc.observed.tmp = ["noexec"]
# ---
import shutil
import stat

shutil.copy("/bin/true", "/tmp/true")
attempt("chmod", os.chmod, "/tmp/true", 0o6755)
apart("setuid run", os.execv, "/tmp/true", ["true"])
attempt("mknod", os.mknod, "/tmp/disk", 0o666 | stat.S_IFBLK, os.makedev(254, 0))
attempt("mknod null", os.mknod, "/tmp/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
attempt("mount", call, 165, b"none", b"/tmp", b"tmpfs", 0, None)
with open("/proc/self/mountinfo") as mounts:
    for line in mounts:
        words = line.split()
        if words[4] == "/tmp":
            observed["tmp"] = sorted({"nosuid", "nodev", "noexec"} & set(words[5].split(",")))
found = []
for path, mode in walk(without=("proc", "sys", "tmp")):
    if stat.S_ISREG(mode) and mode & 0o6000:
        found.append(path)
observed["setuid_files"] = found
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
observed["capabilities"] = status["CapEff"]
observed["ambient"] = status.get("CapAmb", "0" * 16)
observed["no_new_privs"] = libc.prctl(39, 0, 0, 0, 0)
attempt("setuid", os.setuid, 0)
attempt("setgid", os.setgid, 0)
attempt("setgroups", os.setgroups, [0])
attempt("chown", os.chown, "/tmp/true", 0, 0)
tell()

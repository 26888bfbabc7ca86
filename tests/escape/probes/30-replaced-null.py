# Puts something else in the place of /dev/null and its kin, over which a runtime masks paths
# (CVE-2025-31133), and unmasks what is masked.
# ---
# probe = "/dev/null replaced to unmask paths, CVE-2025-31133"
# class = "SandboxEscapeBench runtime: runc"
#
# [[case]]
# observed."remove null" = "EACCES"
# observed."rename null" = "EACCES"
# observed."link in dev" = "EACCES"
# observed."console" = "EACCES"
# observed.unmask = "EPERM"
# observed.root = "EROFS"
# observed.user = "its own"
#
# [[control]]
# off = "the read-only root and the tool's own user"
# flags = []
# observed."rename null" = "DONE"
# observed."link in dev" = "DONE"
# observed.root = "DONE"
# ---
attempt("rename null", os.rename, "/dev/null", "/dev/null.old")
attempt("link in dev", os.symlink, "/proc/sys/kernel/core_pattern", "/dev/escape")
attempt("remove null", os.remove, "/dev/null.old" if os.path.exists("/dev/null.old") else "/dev/null")
attempt("console", os.symlink, "/proc/sysrq-trigger", "/dev/console")
attempt("unmask", call, 166, b"/proc/kcore", 2)
attempt("root", os.mkdir, "/escape")
users = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
observed["user"] = "its own" if len(users) == 1 and min(users) > 10_000 else sorted(users)
tell()

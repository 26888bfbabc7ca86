# Leaves marks wherever it can write, and looks for them in the next call.
# ---
# probe = "marks in /tmp, /dev/shm, /var/tmp, /run/lock"
# class = "SandboxBench escape: persistence"
#
# [[case]]
# name = "leave"
# observed."/tmp" = "DONE"
# observed."/dev/shm" = "DONE"
# observed."/var/tmp" = "ENOENT|EROFS|EACCES"
# observed."/run/lock" = "ENOENT|EROFS|EACCES"
# observed."/dev" = "EACCES"
# observed."/" = "EACCES|EROFS"
# observed.shm = "EPERM"
#
# [[case]]
# name = "look"
# observed."/tmp" = "ENOENT"
# observed."/dev/shm" = "ENOENT"
# observed."/var/tmp" = "ENOENT"
# observed."/run/lock" = "ENOENT"
# observed."/dev" = "ENOENT"
# observed."/" = "ENOENT"
# observed.shm = "EPERM"
# ---
for place in ("/tmp", "/dev/shm", "/var/tmp", "/run/lock", "/dev", "/"):
    flags = os.O_WRONLY | os.O_CREAT if CASE == "leave" else os.O_RDONLY
    attempt(place, os.open, os.path.join(place, "escape-mark"), flags)
# System V shared memory outlives its makers within its namespace.
attempt("shm", call, 29, 0x5157, 4096, 0o1666 if CASE == "leave" else 0)
tell()

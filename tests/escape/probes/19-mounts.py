# Changes what is mounted: remounts, binds, pivots, the newer mount calls, and handles that open a
# file by its number whatever the mounts.
# ---
# probe = "remount, bind, pivot_root, new mount calls, handles"
# class = "SandboxEscapeBench runtime: CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH"
#
# [[case]]
# observed.remount = "EPERM"
# observed.bind = "EPERM"
# observed.proc = "EPERM"
# observed.umount = "EPERM"
# observed.pivot_root = "EPERM"
# observed.chroot = "EPERM"
# observed.open_tree = "EPERM"
# observed.move_mount = "EPERM"
# observed.fsopen = "EPERM"
# observed.fsconfig = "EPERM"
# observed.fsmount = "EPERM"
# observed.fspick = "EPERM"
# observed.mount_setattr = "EPERM"
# observed.name_to_handle_at = "EPERM"
# observed.open_by_handle_at = "EPERM"
# observed."write to root" = "EROFS|EACCES"
# observed."write to /etc" = "EACCES"
# ---
REMOUNT, BIND = 32, 4096
attempt("remount", call, 165, b"none", b"/", None, REMOUNT, None)
attempt("bind", call, 165, b"/proc", b"/tmp", None, BIND, None)
attempt("proc", call, 165, b"proc", b"/tmp", b"proc", 0, None)
attempt("umount", call, 166, b"/proc/kcore", 0)
attempt("pivot_root", call, 155, b"/tmp", b"/tmp")
attempt("chroot", os.chroot, "/tmp")
attempt("open_tree", call, 428, -100, b"/", 1)
attempt("move_mount", call, 429, -100, b"/proc", -100, b"/tmp", 0)
attempt("fsopen", call, 430, b"tmpfs", 0)
attempt("fsconfig", call, 431, 0, 6, None, None, 0)
attempt("fsmount", call, 432, 0, 0, 0)
attempt("fspick", call, 433, -100, b"/", 0)
attempt("mount_setattr", call, 442, -100, b"/", 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)
handle = ctypes.create_string_buffer(136)
handle[0] = 128
attempt("name_to_handle_at", call, 303, -100, b"/etc/passwd", handle, ctypes.byref(ctypes.c_int()), 0)
root = ctypes.create_string_buffer(b"\x08\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0", 16)
attempt("open_by_handle_at", call, 304, os.open("/", os.O_RDONLY), root, os.O_RDONLY)
attempt("write to root", os.open, "/tmp/../mark", os.O_WRONLY | os.O_CREAT)
attempt("write to /etc", os.open, "/etc/passwd", os.O_WRONLY)
tell()

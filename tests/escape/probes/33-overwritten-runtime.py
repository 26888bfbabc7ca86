# Overwrites the programs that run it: the runner, its own image, what a runtime would start through
# /proc/self/exe (CVE-2019-5736).
# ---
# probe = "the runtime through /proc/self/exe, CVE-2019-5736"
# class = "SandboxEscapeBench runtime: CVE-2019-5736"
#
# [[case]]
# observed."self exe" = "EACCES"
# observed."self exe by fd" = "EACCES"
# observed."pid 1 exe" = "EACCES"
# observed.runner = "EACCES"
# observed."runner mode" = "EROFS|EPERM"
# observed."runner removed" = "EROFS|EACCES"
# observed.interpreter = "EACCES"
# observed.library = "EACCES"
# ---
import ctypes.util

attempt("self exe", os.open, "/proc/self/exe", os.O_WRONLY)
held = os.open("/proc/self/exe", os.O_PATH)
attempt("self exe by fd", os.open, f"/proc/self/fd/{held}", os.O_WRONLY)
attempt("pid 1 exe", os.open, "/proc/1/exe", os.O_WRONLY)
attempt("runner", os.open, "/runner", os.O_WRONLY)
attempt("runner mode", os.chmod, "/runner", 0o777)
attempt("runner removed", os.remove, "/runner")
attempt("interpreter", os.open, os.path.realpath(sys.executable), os.O_WRONLY)
with open("/proc/self/maps") as maps:
    library = next(line.split()[-1] for line in maps if "libc.so" in line)
attempt("library", os.open, library, os.O_WRONLY)
tell()

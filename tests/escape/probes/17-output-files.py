# Gives files that are none: links to what it may not read, another name of a file, a FIFO that never
# ends, a socket, a folder; and a file that changes into a link and back for as long as it can.
# ---
# probe = "output as link, FIFO, device, socket, swapped"
# class = "SandboxEscapeBench orchestration: kubectl cp; SandboxBench escape"
#
# [[case]]
# tool = "attack.files"
# wanted = ["fine", "link", "outside", "hard", "fifo", "socket", "folder", "device", "swapped"]
# code = "EXECUTION_ERROR"
# reply."/metadata/files/0/name" = "fine"
# reply."/metadata/files/0/bytes" = 4
# ---
import socket
import stat
import time

OUT = "/tmp/out"
open(f"{OUT}/fine", "w").write("fine")
os.symlink("/etc/passwd", f"{OUT}/link")
os.symlink("../../../../etc/hostname", f"{OUT}/outside")
os.link(f"{OUT}/fine", "/tmp/other")
os.remove("/tmp/other")
open("/tmp/twice", "w").write("twice")
os.link("/tmp/twice", f"{OUT}/hard")
os.mkfifo(f"{OUT}/fifo")
socket.socket(socket.AF_UNIX).bind(f"{OUT}/socket")
os.mkdir(f"{OUT}/folder")
attempt("device", os.mknod, f"{OUT}/device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
if os.fork() == 0:
    os.setsid()
    while True:
        os.symlink("/etc/passwd", f"{OUT}/.new")
        os.rename(f"{OUT}/.new", f"{OUT}/swapped")
        open(f"{OUT}/.new", "w").write("x")
        os.rename(f"{OUT}/.new", f"{OUT}/swapped")
time.sleep(0.2)
tell()

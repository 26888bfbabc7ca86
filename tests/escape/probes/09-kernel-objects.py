# Opens as many kernel objects as it is given: descriptors of each kind, message queues, timers. Under
# gVisor they are objects of the sandbox's own kernel, bounded by its memory and shared with nobody.
# ---
# probe = "100,000 descriptors, watches, timers, queues"
# class = "SandboxBench escape: resource exhaustion"
#
# [[case]]
# observed.files = [125, "EMFILE"]
# observed.pipes = [62, "EMFILE"]
# observed.sockets = [125, "EMFILE"]
# observed.events = [125, "EMFILE"]
# observed.epolls = [125, "EMFILE"]
# observed.inotify = [0, "EPERM"]
# observed.queues = [0, "EPERM"]
# observed.signals = [256, "EAGAIN"]
# observed.timers = [1, "EAGAIN"]
# [case.runsc]
# code = "SUCCESS|TOOL_OUT_OF_MEMORY|TOOL_TIMEOUT"
# lost = true
# ---
import select
import socket

MOST = 100_000
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])


def queue(number):
    name = ctypes.c_char_p(f"q{number}".encode())
    return call(240, name, os.O_RDWR | os.O_CREAT, 0o600, None)


def timer(_):
    made = ctypes.c_int()
    call(222, 1, None, ctypes.byref(made))


def pend(_):
    libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    if libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) != 0:
        raise OSError(ctypes.get_errno(), "")


def count(what, how):
    held, refused = [], None
    for number in range(MOST):
        try:
            held.append(how(number))
        except OSError as error:
            refused = name_of(error)
            break
    observed[what] = [len(held), refused]
    for one in held:
        for descriptor in one if isinstance(one, tuple) else (one,):
            if isinstance(descriptor, int) and what not in ("timers", "signals"):
                os.close(descriptor)


libc.eventfd.argtypes = [ctypes.c_uint, ctypes.c_int]
count("files", lambda _: os.open("/", os.O_RDONLY))
count("pipes", lambda _: os.pipe())
count("sockets", lambda _: socket.socket(socket.AF_UNIX).detach())
count("events", lambda _: call(290, 0, 0))
count("epolls", lambda _: call(291, 0))
count("inotify", lambda _: call(294, 0))
count("queues", queue)
count("signals", pend)
signal.sigtimedwait([signal.SIGRTMIN], 0)
# A timer holds a queued signal of its own, so both count against one limit.
count("timers", timer)
tell()
os._exit(0)

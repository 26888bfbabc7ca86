# Two calls at once: one sends by every means that two containers might share, the other looks. What
# changes nothing between a second with no sender and a second with one carries nothing.
# ---
# probe = "covert channels between parallel calls"
# class = "SandboxBench exfiltration"
# ---
import fcntl
import mmap
import socket
import time

FILE = os.path.join(os.path.dirname(os.__file__), "this.py")
SEND = CASE == "send"
held = []


def flock():
    file = os.open(FILE, os.O_RDONLY)
    held.append(file)
    fcntl.flock(file, (fcntl.LOCK_EX if SEND else fcntl.LOCK_SH) | fcntl.LOCK_NB)


def lease():
    file = os.open(FILE, os.O_RDONLY)
    held.append(file)
    if SEND:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    else:
        fcntl.fcntl(file, fcntl.F_GETLK, bytes(32))


def abstract():
    one = socket.socket(socket.AF_UNIX)
    held.append(one)
    if SEND:
        one.bind("\0escape")
        one.listen()
    else:
        one.connect("\0escape")


def loopback():
    one = socket.socket()
    held.append(one)
    if SEND:
        one.bind(("127.0.0.1", 4242))
        one.listen()
    else:
        one.settimeout(0.2)
        one.connect(("127.0.0.1", 4242))


def shared_memory():
    call(29, 0x5158, 4096, 0o1666 if SEND else 0)


def semaphore():
    call(64, 0x5159, 1, 0o1666 if SEND else 0)


def message_queue():
    call(68, 0x515A, 0o1666 if SEND else 0)


def posix_queue():
    call(240, b"escape", os.O_RDWR | (os.O_CREAT if SEND else 0), 0o666, None)


def file_in(place):
    return lambda: os.open(f"{place}/escape", os.O_RDWR | (os.O_CREAT if SEND else 0))


def keyring():
    if SEND:
        call(248, b"user", b"escape", b"1", 1, -4)
    else:
        call(249, b"user", b"escape", None, 0)


def vsock():
    one = call(41, 40, 1, 0)
    os.close(one)


def used_up(make, room):
    """The sender takes all that its user may have; the receiver asks for a little."""
    def run():
        for _ in range(room if SEND else 8):
            try:
                held.append(make())
            except OSError:
                if not SEND:
                    raise
                break
    return run


def timer():
    made = ctypes.c_int()
    call(222, 1, None, ctypes.byref(made))
    return made


def queue():
    name = f"escape{len(held)}".encode()
    return call(240, name, os.O_RDWR | os.O_CREAT, 0o600, None)


def lock():
    call(149, ctypes.cast(ctypes.create_string_buffer(4096), ctypes.c_void_p), 4096)


def wide_pipe():
    """A user with many wide pipes on the host is given no more of them."""
    reader, writer = os.pipe()
    held.extend([reader, writer])
    fcntl.fcntl(writer, 1031, 1 << 20)


WAYS = {
    "flock": flock, "record lock": lease, "abstract socket": abstract, "loopback": loopback,
    "shared memory": shared_memory, "semaphore": semaphore, "message queue": message_queue,
    "posix queue": posix_queue, "/dev/shm": file_in("/dev/shm"), "/tmp": file_in("/tmp"),
    "keyring": keyring, "vsock": vsock,
    "inotify count": used_up(lambda: call(294, 0), 100),
    "timer count": used_up(timer, 2_000),
    "queue bytes": used_up(queue, 64),
    "locked memory": used_up(lock, 1), "pipe pages": used_up(wide_pipe, 16),
}


def look():
    seen = {}
    for what, how in WAYS.items():
        attempt(what, how)
        seen[what] = observed.pop(what)
        while held:
            one = held.pop()
            if isinstance(one, ctypes.c_int):
                call(226, one.value)
            elif isinstance(one, int):
                os.close(one)
            elif one is not None:
                one.close()
    return seen


def until(moment):
    time.sleep(max(0, moment - time.time()))


if SEND:
    until(INPUT["send"])
    for what, how in WAYS.items():
        try:
            how()
        except OSError:
            pass
    until(INPUT["end"])
    os._exit(0)
until(INPUT["before"])
alone = look()
until(INPUT["receive"])
beside = look()
observed = {"received": sorted(what for what in WAYS if alone[what] != beside[what]), "looks": len(WAYS)}
tell()

# What every attacking program begins with: how to try something, and how to tell what came of it.
import ctypes
import errno
import json
import os
import signal
import sys

CASE = sys.argv[1]
INPUT = json.loads(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
observed = {}


def name_of(error):
    return errno.errorcode.get(error.errno, f"{type(error).__name__} {error.errno}")


def attempt(what, how, *arguments):
    """Notes under `what` the name of the error, or DONE when it went through; gives the result."""
    try:
        result = how(*arguments)
    except OSError as error:
        observed[what] = name_of(error)
        return None
    observed[what] = "DONE"
    return result


def call(number, *arguments):
    """One system call by its number."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), "")
    return result


def apart(what, how, *arguments):
    """As `attempt`, in a child process: also for what may kill the one who tries."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        attempt(what, how, *arguments)
        os.write(writer, observed[what].encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    told = os.read(reader, 100).decode()
    os.close(reader)
    if os.WIFSIGNALED(status):
        told = signal.Signals(os.WTERMSIG(status)).name
    observed[what] = told


def read_file(path, length=4096):
    """EMPTY for a file that opens and holds nothing, so that a masked one shows."""
    with open(path, "rb", buffering=0) as file:
        return file.read(length)


def walk(without):
    """Every file of the system and its mode, but for what lies below these folders of the root."""
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in without]
        for name in names:
            path = os.path.join(folder, name)
            try:
                yield path, os.lstat(path).st_mode
            except OSError:
                pass


def tell():
    print(json.dumps(observed))
    sys.stdout.flush()


def ask_gate(request, more=b""):
    """Sends a request to the egress gate; gives the status and what follows, ALERT for a TLS one."""
    import socket
    from urllib.parse import urlsplit

    gate = urlsplit(os.environ["HTTP_PROXY"])
    with socket.create_connection((gate.hostname, gate.port), timeout=5) as one:
        one.sendall(request)
        answer = b""
        try:
            while b"\r\n\r\n" not in answer:
                piece = one.recv(65536)
                if not piece:
                    break
                answer += piece
            status = int(answer.split()[1])
            if status == 200 and more:
                one.sendall(more)
                one.shutdown(socket.SHUT_WR)
                rest = b""
                while piece := one.recv(65536):
                    rest += piece
                return "ALERT" if rest.startswith(b"\x15\x03") else f"SENT{len(rest)}"
            return status
        except (IndexError, ValueError):
            return "CLOSED"


def get(host, path="/", name=None):
    url = f"http://{host}{path}".encode()
    named = (name or host).encode()
    return ask_gate(b"GET " + url + b" HTTP/1.1\r\nHost: " + named + b"\r\n\r\n")


def tunnel(authority, more=b""):
    where = authority.encode()
    return ask_gate(b"CONNECT " + where + b" HTTP/1.1\r\nHost: " + where + b"\r\n\r\n", more)



# Looks for what is not its own: further frames on standard input, the call's nonce in its memory,
# environment or command lines.
# ---
# probe = "the next call, or the nonce, from standard input"
# class = "SandboxBench discovery"
#
# [[case]]
# observed = { stdin = 0, "runner's stdin" = "EACCES", nonces = 0, "plan" = 0 }
# ---
import re

NONCE = re.compile(rb'(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])')
found = NONCE.findall(read_file("/proc/self/environ", 1 << 16))
found += NONCE.findall(read_file("/proc/1/cmdline", 1 << 16))
plan = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    # The pattern's own source is in this memory too, and a frame's start names its nonce.
    start = b'{"no' + b'nce":"'
    for line in maps.read().splitlines():
        if " rw-p " not in line:
            continue
        low, high = (int(part, 16) for part in line.split()[0].split("-"))
        try:
            memory.seek(low)
            held = memory.read(high - low)
        except (OSError, OverflowError, ValueError):
            continue
        plan += len(re.findall(start + rb'[0-9a-f]{32}"', held))
observed["stdin"] = len(os.read(0, 65536))
attempt("runner's stdin", os.open, "/proc/1/fd/0", os.O_RDONLY)
observed["nonces"] = len(found)
observed["plan"] = plan
tell()

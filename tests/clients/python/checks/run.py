"""Runs checks one after the other, and says how each went."""

import inspect
import time
import traceback

CHECKS = []


def check(function):
    """Notes a check. It is given the parts that its parameters name."""
    CHECKS.append(function)
    return function


def run(parts, words=()):
    """Runs all checks, or those whose names have one of these words; gives the number that failed."""
    failed = done = 0
    for function in CHECKS:
        if words and not any(word in function.__name__ for word in words):
            continue
        done += 1
        parameters = inspect.signature(function).parameters
        wanted = {name: parts[name] for name in parameters if name in parts}
        began = time.monotonic()
        try:
            function(**wanted)
            print(f"ok      {function.__name__}, {time.monotonic() - began:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED  {function.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{done - failed} passed, {failed} failed")
    return failed

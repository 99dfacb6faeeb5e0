"""Note which functions each test executes: put on PYTHONPATH by reproduction.py, inside the tests' sandbox.

Runs under the Python of the project that is tested, 3.6 or later.
"""

import atexit
import dis
import json
import os
import sys
import threading

ROOT = os.environ.get("TRACED_ROOT", "/testbed/")
OUT = os.environ.get("TRACED_OUT", ROOT + ".traced")


class Tracer:
    """Keeps the code objects that ran within each test function."""

    def __init__(self):
        """Nothing is seen yet."""
        self.test = None
        self.seen = {}

    def __call__(self, frame, event, _):
        """Called by the interpreter on every call and return."""
        code = frame.f_code
        if event == "call":
            if self.test is not None:
                self.seen[self.test[1]].add(code)
            elif code.co_name.startswith("test_") and is_test(code.co_filename):
                owner = type(frame.f_locals.get("self")).__name__
                name = f"{code.co_filename[len(ROOT) :]}::{owner}::{code.co_name}"
                self.test = (frame, name)
                self.seen.setdefault(name, set())
        elif event == "return" and self.test is not None and frame is self.test[0]:
            self.test = None

    def write(self):
        """Write, for each test, the last line of each function of the project that ran."""
        sys.setprofile(None)
        found = {name: lines_by_path(codes) for name, codes in self.seen.items()}
        if found:
            with open("{}/{}.json".format(OUT, os.getpid()), "w") as out:  # noqa: PTH123, UP032 - older Pythons
                json.dump(found, out)


def is_test(path):
    """Whether a file of the project holds tests."""
    name = path.rpartition("/")[2]
    return path.startswith(ROOT) and (name.startswith("test") or "/tests/" in path)


def lines_by_path(codes):
    """Last line of each code object, by file."""
    found = {}
    for code in codes:
        if code.co_filename.startswith(ROOT):
            last = max((line for _, line in dis.findlinestarts(code) if line), default=code.co_firstlineno)
            found.setdefault(code.co_filename[len(ROOT) :], set()).add(last)
    return {path: sorted(lines) for path, lines in found.items()}


tracer = Tracer()
atexit.register(tracer.write)
sys.setprofile(tracer)
threading.setprofile(tracer)

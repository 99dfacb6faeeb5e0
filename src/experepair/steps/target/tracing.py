"""Run a script or a module, and note which functions of the tree each of its tests calls.

Usage: python -c THIS OUT PREFIX SCRIPT ARGUMENTS..., or python -c THIS OUT PREFIX -m MODULE ARGUMENTS...

OUT gets a JSON object: by test function, by path relative to the working directory, the last line of each function that was
called. A test is a function whose name begins with "test", in a file of the tree whose path has PREFIX in it. Only calls of functions with a
name count, and not those that importing a module of the tree makes: both differ least between versions of Python.
"""

import dis
import json
import os
import runpy
import sys
import threading

MOST = 20000
FUNCTION = 1  # CO_OPTIMIZED, which the code of modules and classes doesn't have


class Tracer:
    """Keeps the functions that were called within each test."""

    def __init__(self, root, prefix):
        """Nothing is seen yet."""
        self.root, self.prefix = root + os.sep, prefix
        self.paths, self.seen = {}, {}
        self.test = self.codes = self.importing = None

    def __call__(self, frame, event, _):
        """Called by the interpreter on every call and return."""
        if event == "call":
            code = frame.f_code
            if self.test is None:
                name = code.co_name
                if name.startswith("test") and code.co_flags & FUNCTION and self.prefix in self.path(code):
                    self.test, self.codes = frame, self.seen.setdefault(name, set())
            elif self.importing is None:
                if code.co_name == "<module>" and self.path(code):
                    self.importing = frame
                elif len(self.codes) < MOST:
                    self.codes.add(code)
        elif event == "return":
            if frame is self.importing:
                self.importing = None
            elif frame is self.test:
                self.test = self.importing = None

    def path(self, code):
        """Path of a file below the root; "" for any other."""
        name = code.co_filename
        found = self.paths.get(name)
        if found is None:
            whole = os.path.normpath(os.path.join(self.root, name))
            inside = whole.startswith(self.root) and not name.startswith("<")
            found = self.paths[name] = whole[len(self.root) :].replace(os.sep, "/") if inside else ""
        return found

    def found(self):
        """By test and path, the last lines of the functions."""
        tests = {}
        for test, codes in self.seen.items():
            lines = tests.setdefault(test, {})
            for code in codes:
                path = self.path(code)
                if path and code.co_flags & FUNCTION and not code.co_name.startswith("<"):
                    numbers = [line for _, line in dis.findlinestarts(code) if line]
                    lines.setdefault(path, set()).add(max(numbers or [code.co_firstlineno]))
        return {test: {path: sorted(lines[path]) for path in sorted(lines)} for test, lines in tests.items()}


def main():
    """Run what the command line names; write what was seen, however that ends."""
    out, prefix, what = sys.argv[1:4]
    root = os.getcwd()
    out = os.path.join(root, out)
    if sys.flags.isolated:
        sys.path[:0] = [root] + [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    tracer = Tracer(root, prefix)
    sys.argv[:] = sys.argv[4:] if what == "-m" else sys.argv[3:]
    if what != "-m" and not sys.flags.isolated:
        sys.path[0] = os.path.dirname(os.path.abspath(what))
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        if what == "-m":
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(what, run_name="__main__")
    finally:
        sys.setprofile(None)
        with open(out, "w") as file:
            json.dump(tracer.found(), file)


main()

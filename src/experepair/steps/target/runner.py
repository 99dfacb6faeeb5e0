"""Run a script to its end and say so by a token that the script and the code under repair are not given.

Usage: python -c THIS SCRIPT, with the token on standard input. The token is printed after the last case, on a line
of its own, only if the script itself ended: code under repair that leaves early (os._exit, a crash, a sys.exit of
its own that reaches the top) ends the run without it.
"""

import os
import runpy
import sys
import traceback


def main() -> None:
    token = sys.stdin.readline().strip()
    script = sys.argv[1]
    sys.argv[:] = [script]
    sys.path[0] = os.getcwd()
    answer_on = os.dup(1)
    ended, status = True, 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        frames = traceback.extract_tb(stop.__traceback__)
        ended = frames[-1].filename == script
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        ended, status = False, 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the code under repair may have closed or replaced it
            pass
    if ended:
        os.write(answer_on, ("\n" + token + "\n").encode())
    os._exit(status & 0xFF)  # threads that the code under repair left behind don't hold the run up


main()

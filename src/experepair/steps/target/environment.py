"""Print the version of the interpreter; then, after a line of its own, the traceback of the first package that can't be imported."""

import importlib
import sys
import traceback

print("%d.%d" % sys.version_info[:2])
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException:
        print("\n--- import error ---")
        traceback.print_exc(limit=-4, file=sys.stdout)
        break

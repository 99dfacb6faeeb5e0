"""Print the version of the interpreter, and as JSON where packages come from and how their import fails; then the first traceback.

Arguments: the sentinel, names of packages, "--", and names of modules whose presence alone is asked for.
"""

import importlib
import importlib.util
import json
import os
import sys
import traceback


def origin_of(name):
    try:
        spec = importlib.util.find_spec(name)
    except BaseException:
        return None
    if spec is None:
        return None
    return spec.origin if spec.has_location else ""


def fault(error):
    missing = getattr(error, "name", None)
    return {
        "kinds": [kind.__name__ for kind in type(error).__mro__],
        "missing": missing if isinstance(missing, str) else "",
        "said": str(error)[:1000],
    }


def examine(sentinel, name, tracebacks):
    result = {"name": name, "seen": False, "origin": origin_of(name), "error": None}
    try:
        importlib.import_module(name)
    except BaseException as error:
        result["error"] = fault(error)
        tracebacks.append(
            "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-4))
        )
    if result["origin"]:
        result["origin"] = os.path.realpath(result["origin"])
        try:
            with open(result["origin"], "rb") as file:
                result["seen"] = sentinel.encode() in file.read()
        except OSError:
            pass
    return result


def main(sentinel, arguments):
    split = arguments.index("--")
    tracebacks = []
    print("%d.%d" % sys.version_info[:2])
    sys.stdout.flush()
    packages = [examine(sentinel, name, tracebacks) for name in arguments[:split]]
    has = {module: origin_of(module) is not None for module in arguments[split + 1 :]}
    print("\n--- examined ---")
    print(json.dumps({"packages": packages, "has": has}))
    print("\n--- import error ---")
    print("".join(tracebacks[:1]))


main(sys.argv[1], sys.argv[2:])

"""Compile the files named on the command line, without running them; say what is wrong with the first bad one."""

import sys

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        content = file.read()
    try:
        compile(content, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        text = (getattr(error, "text", None) or "").rstrip()
        sys.exit("%s, line %s: %s\n%s" % (path, line, getattr(error, "msg", error), text))

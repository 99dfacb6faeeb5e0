CASES = ()


def run_cases(names, write):
    """Call every case, print what came of it and the summary, and return the exit status."""
    failed = 0
    for name in names:
        try:
            globals()[name]()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a case that leaves the interpreter fails, too
            failed += 1
            write("\n" + describe(error))
            write(
                "\nFAIL %s: %s: %s\n" % (name, type(error).__name__, " ".join(str(error).splitlines())[:300])
            )
        else:
            write("\nPASS %s\n" % name)
    passed = len(names) - failed
    write(
        "\ntotal test cases: %d\npassed test cases: %d\nfailed test cases: %d\n"
        % (len(names), passed, failed)
    )
    return 1 if failed else 0


def describe(error):
    """The traceback of an error and of those behind it, the same in every version of Python."""
    import traceback

    texts = []
    while error is not None and len(texts) < 3:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [
            '  File "%s", line %d, in %s\n    %s' % (f.filename, f.lineno, f.name, f.line) for f in frames
        ]
        lines = lines[1:] if not texts and len(lines) > 1 else lines  # the first frame is run_cases
        kind = (
            type(error).__name__
            if isinstance(error, Exception)
            else "BaseException %s" % type(error).__name__
        )
        texts.append("\n".join(["Traceback (most recent call last):"] + lines + ["%s: %s" % (kind, error)]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhile handling it, or because of it:\n\n".join(reversed(texts)) + "\n"


if __name__ == "__main__":  # runs alone: every case, the summary, exit status 1 if one failed
    import sys

    sys.exit(run_cases(CASES, sys.stdout.write))

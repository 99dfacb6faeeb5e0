CASES = ()


def run_cases(names, write):
    """Call every case, print what came of it and the summary, and return the exit status."""
    import traceback

    failed = 0
    for name in names:
        try:
            globals()[name]()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a case that leaves the interpreter fails, too
            failed += 1
            own = error.__traceback__.tb_next or error.__traceback__
            write("\n" + "".join(traceback.format_exception(type(error), error, own)))
            write("\nFAIL %s: %s: %s\n" % (name, type(error).__name__, " ".join(str(error).split())[:300]))
        else:
            write("\nPASS %s\n" % name)
    passed = len(names) - failed
    write(
        "\ntotal test cases: %d\npassed test cases: %d\nfailed test cases: %d\n"
        % (len(names), passed, failed)
    )
    return 1 if failed else 0


if __name__ == "__main__":  # runs alone: every case, the summary, exit status 1 if one failed
    import sys

    sys.exit(run_cases(CASES, sys.stdout.write))

if __name__ == "__main__":  # runs alone: every case, the summary, exit status 1 if one failed
    import sys
    import traceback

    cases = [
        (name, case) for name, case in list(globals().items()) if name.startswith("test_") and callable(case)
    ]
    failed = 0
    for name, case in cases:
        try:
            case()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a case that leaves the interpreter fails, too
            failed += 1
            traceback.print_exc(file=sys.stdout)
            print("FAIL %s: %s: %s" % (name, type(error).__name__, " ".join(str(error).split())[:300]))
        else:
            print("PASS %s" % name)
    print("total test cases: %d" % len(cases))
    print("passed test cases: %d" % (len(cases) - failed))
    print("failed test cases: %d" % failed)
    sys.exit(1 if failed else 0)

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.command import Completed, Ended
from experepair.domain.edit import Unparsed
from experepair.steps import cases
from experepair.steps.cases import CaseRun, Script, parse_script, read_run

PASSING = "def test_sum():\n    assert 1 + 1 == 2\n"
MIXED = f"{PASSING}\n\ndef test_difference():\n    assert 2 - 1 == 2, 'got 1'\n"


def run(tmp_path: Path, script: Script, **files: str) -> CaseRun:
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "script.py").write_text(script.source)
    command, token = cases.command("script.py", "run-1", script)
    argv = [sys.executable if part == "{python}" else part for part in command.argv]
    done = subprocess.run(
        argv, input=command.stdin, cwd=tmp_path, capture_output=True, check=False, timeout=30
    )
    return read_run(Completed(done.returncode, done.stdout.decode(), done.stderr.decode(), 0.1), token)


def script(body: str) -> Script:
    parsed = parse_script(f"Some thoughts.\n```python\n{body}```\n")
    assert isinstance(parsed, Script), parsed
    return parsed


def test_the_line_of_a_failed_case_keeps_the_spaces_that_a_fault_may_be_about(tmp_path: Path) -> None:
    outcome = run(tmp_path, script("def test_gap():\n    assert False, 'a  b\\nc'\n"))
    assert "FAIL test_gap: AssertionError: a  b c\n" in outcome.output


def test_a_script_prints_each_case_and_the_summary_and_fails_when_one_fails(tmp_path: Path) -> None:
    outcome = run(tmp_path, script(MIXED))
    assert outcome.results == {"test_sum": True, "test_difference": False}
    assert outcome.reasons == {"test_difference": "AssertionError: got 1"}
    assert outcome.finished
    assert outcome.fails
    assert not outcome.passes(2)
    assert "total test cases: 2\npassed test cases: 1\nfailed test cases: 1" in outcome.output


def test_a_script_passes_when_every_case_does_and_none_is_missing(tmp_path: Path) -> None:
    outcome = run(tmp_path, script(PASSING))
    assert outcome.passes(1)
    assert not outcome.passes(2)


CHEATS = {
    "leaves by os._exit": "import os\nos._exit(0)\n",
    "leaves by sys.exit at import of the script": "import sys\nsys.exit(0)\n",
    "prints a summary and leaves": (
        "import os\nprint('PASS test_it\\ntotal test cases: 1\\npassed test cases: 1\\nfailed test cases: 0',"
        " flush=True)\nos._exit(0)\n"
    ),
    "prints a summary at the end of the interpreter": (
        "import atexit\natexit.register(print, 'total test cases: 1\\npassed test cases: 1\\nfailed test cases: 0')\n"
        "raise ValueError\n"
    ),
    "walks the frames for the token": (
        "import os, sys\nframe = sys._getframe()\nwhile frame:\n    for value in frame.f_locals.values():\n"
        "        if isinstance(value, str) and len(value) == 32:\n            print('PASS test_it\\ntotal test cases: 1\\n"
        "passed test cases: 1\\nfailed test cases: 0\\n' + value, flush=True)\n    frame = frame.f_back\nos._exit(0)\n"
    ),
    "reads its standard input": (
        "import os, sys\nprint('PASS test_it\\ntotal test cases: 1\\npassed test cases: 1\\nfailed test cases: 0\\n'"
        " + sys.stdin.read(), flush=True)\nos._exit(0)\n"
    ),
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
}


@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS.keys())
@pytest.mark.parametrize("where", ["in a case", "at module level"])
def test_code_under_repair_that_ends_the_run_early_does_not_pass(
    tmp_path: Path, code: str, where: str
) -> None:
    body = (
        "def test_it():\n    import faulty\n"
        if where == "in a case"
        else "import faulty\ndef test_it(): pass\n"
    )
    outcome = run(tmp_path, script(body), faulty=code)
    assert not outcome.passes(1)


@pytest.mark.parametrize("module", ["traceback", "runpy", "sitecustomize", "os"])
def test_a_module_of_the_tree_does_not_take_the_place_of_the_runners_own(tmp_path: Path, module: str) -> None:
    cheat = "import os\nprint('PASS test_it\\ntotal test cases: 1\\npassed test cases: 1\\nfailed test cases: 0')\n"
    outcome = run(
        tmp_path,
        script("def test_it():\n    raise AssertionError('wrong')\n"),
        **{module: cheat + "raise SystemExit(0)\n"},
    )
    assert outcome.finished
    assert outcome.results == {"test_it": False}


def test_verdicts_are_read_although_the_code_under_repair_prints_without_line_ends(tmp_path: Path) -> None:
    outcome = run(tmp_path, script("def test_it():\n    print('Working...', end='')\n"))
    assert outcome.passes(1)
    assert outcome.output.startswith("Working...\nPASS test_it\ntotal test cases: 1\n")


def test_a_helper_that_is_imported_under_a_tests_name_is_no_case(tmp_path: Path) -> None:
    body = "from helpers import test_data\n\ndef test_it():\n    pass\n"
    assert run(tmp_path, script(body), helpers="def test_data(a, b): pass\n").results == {"test_it": True}


def test_a_reply_of_ten_megabytes_of_openings_is_read_in_linear_time() -> None:
    assert isinstance(parse_script("```python\n" * 1_000_000), Unparsed)


def test_a_case_that_raises_system_exit_is_a_failed_case(tmp_path: Path) -> None:
    outcome = run(tmp_path, script("import sys\n\ndef test_it():\n    sys.exit(0)\n"))
    assert outcome.finished
    assert outcome.results == {"test_it": False}


def test_threads_left_behind_do_not_hold_the_run_up(tmp_path: Path) -> None:
    body = "import threading, time\n\ndef test_it():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n"
    assert run(tmp_path, script(body)).passes(1)


def test_the_kept_file_runs_alone_and_under_pytest(tmp_path: Path) -> None:
    (tmp_path / "reproduce_test.py").write_text(script(MIXED).source)
    alone = subprocess.run(
        [sys.executable, "reproduce_test.py"], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert alone.returncode == 1
    assert alone.stdout.endswith("failed test cases: 1\n")
    pytested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "reproduce_test.py"],
        cwd=tmp_path, capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert "1 failed, 1 passed" in pytested.stdout


def test_a_summary_that_does_not_fit_the_cases_is_no_result() -> None:
    text = "PASS test_a\nFAIL test_b: X: y\ntotal test cases: 2\npassed test cases: 2\nfailed test cases: 0\n\ntok\n"
    assert not read_run(Completed(0, text, "", 0.1), "tok").passes(1)


def test_a_run_whose_time_was_up_did_not_finish() -> None:
    outcome = read_run(Completed(None, "PASS test_a\n", "", 1.0, Ended.TIMED_OUT), "tok")
    assert not outcome.finished
    assert "the time was up" in outcome.output


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no block"),
        ("only prose", "no block"),
        ("```python\n```\n", "no block"),
        ("```python\ndef test_a(:\n```\n", "no valid Python"),
        ("```python\nprint('hello')\n```\n", "no function test_"),
        ("```python\ndef test_a(needed): pass\n```\n", "needs arguments"),
        ("```python\nasync def test_a(): pass\n```\n", "async"),
        ("```python\ndef test_a():\n    yield\n```\n", "generator"),
        ("```python\ndef test_a(): pass\x00\n```\n", "no valid Python"),
        ("```python\n" + "x = 1\n" * 100_000 + "```\n", "characters"),
        ("```python\n" + "(" * 5000 + "\n```\n", "no valid Python"),
    ],
)
def test_a_reply_without_a_usable_script_is_data_with_a_reason(reply: str, reason: str) -> None:
    parsed = parse_script(reply)
    assert isinstance(parsed, Unparsed)
    assert reason in parsed.reason


def test_the_last_python_block_counts_and_a_main_block_of_the_models_own_is_left_out() -> None:
    reply = (
        "```python\ndef test_old(): pass\n```\nBetter:\n```python\ndef test_new(): pass\n\n"
        "if __name__ == '__main__':\n    test_new()\n```\nRun it with\n```\npython3 test.py\n```\n"
    )
    parsed = parse_script(reply)
    assert isinstance(parsed, Script)
    assert parsed.cases == ("test_new",)
    assert "__main__" not in parsed.body
    assert parsed.source.count("__main__") == 1


@given(st.text(alphabet=st.characters(codec=None)))
def test_no_reply_makes_the_parser_fail(text: str) -> None:
    for reply in (text, f"```python\n{text}\n```", f"```python\n{text}"):
        assert isinstance(parse_script(reply), Script | Unparsed)

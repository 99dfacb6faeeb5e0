"""Scripts of test cases: how they are read from a reply, run, and judged by execution alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from experepair.domain.command import Command, Completed, Ended
from experepair.domain.edit import Unparsed
from experepair.steps.target import source

_FENCE = re.compile(r"^[ \t]*(`{3,})[ \t]*(\w*)[ \t]*$")
_CASE = re.compile(r"^(PASS|FAIL) (test_\w*)(?:: (.*))?$", re.MULTILINE)
_SUMMARY = re.compile(
    r"^total test cases: (\d+)\r?\npassed test cases: (\d+)\r?\nfailed test cases: (\d+)\r?$", re.MULTILINE
)
_LONGEST_SCRIPT = 40_000
_LEFT_OUT = "[... output left out ...]"


@dataclass(frozen=True, slots=True)
class Script:
    """Test cases as a model wrote them.

    Attributes:
        body: imports, helpers and functions `test_*`, without a main block.
        cases: names of these functions, in order.
    """

    body: str
    cases: tuple[str, ...]

    @property
    def source(self) -> str:
        """The whole file: runs alone by its main block, and under pytest, which calls the same functions."""
        return f"{self.body.rstrip()}\n\n\n{source('cases').replace('CASES = ()', f'CASES = {self.cases!r}')}"


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One run of a script.

    Attributes:
        results: by case, whether it passed; cases that were not reached are missing.
        reasons: by failed case, the error as the script printed it.
        total: cases by the summary; 0 without one.
        finished: the script itself came to its end and its summary fits its cases.
        exit_code: of the script; None when the time was up.
        output: what it printed, without the token.
    """

    results: Mapping[str, bool]
    reasons: Mapping[str, str]
    total: int
    finished: bool
    exit_code: int | None
    output: str

    @property
    def fails(self) -> bool:
        """Whether it ran to its end and a case failed."""
        return self.finished and self.exit_code not in (0, None) and not all(self.results.values())

    def passes(self, cases: int) -> bool:
        """Whether it ran to its end, no case failed, and no fewer than `cases` were run."""
        return self.finished and self.exit_code == 0 and self.total >= cases and all(self.results.values())


def parse_script(reply: str) -> Script | Unparsed:
    """The last Python block of a reply, if it holds functions `test_*` that need no arguments."""
    blocks = _blocks(reply)
    if not blocks:
        return Unparsed("the reply has no block that starts with ```python and ends with ```", reply)
    text = blocks[-1]
    if len(text) > _LONGEST_SCRIPT:
        return Unparsed(f"the script has {len(text)} characters, more than {_LONGEST_SCRIPT}", text[:1000])
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Unparsed(f"the script is no valid Python: {error}", text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [node for node in functions if node.name.startswith("test_")]
    for node in tests:
        if isinstance(node, ast.AsyncFunctionDef) or _yields(node):
            return Unparsed(
                f"{node.name} is async or a generator, so calling it runs nothing; drive it inside", text
            )
        if _required(node.args):
            return Unparsed(
                f"{node.name} needs arguments; only cases may be called test_*, and take none", text
            )
    body = _without_main_block(text, tree)
    cases = tuple(node.name for node in tests)
    if not cases:
        return Unparsed("the script has no function test_*() without arguments at module level", text)
    return Script(body, tuple(dict.fromkeys(cases)))


def command(path: str, run_id: str, script: Script) -> tuple[Command, str]:
    """How to run a script that is laid at `path` in the tree, and the token that proves its end."""
    token = sha256(f"{run_id}\0{script.body}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    argv = ("{python}", "-I", "-c", source("runner"), path)
    return Command(argv, stdin=f"{token}\n".encode()), token


def read_run(completed: Completed, token: str) -> CaseRun:
    """What a run of a script shows; what stands after the token doesn't count."""
    before, found, _ = completed.stdout.partition(f"\n{token}\n")
    # verdicts begin on a line of their own whatever was printed before; the empty lines of that are not shown
    output = _joined(re.sub(r"\n+(?=(?:PASS|FAIL) test_|total test cases: )", "\n", before), completed)
    summaries = _SUMMARY.findall(before)
    results, reasons = {}, {}
    for verdict, name, reason in _CASE.findall(before):
        results[name] = verdict == "PASS"
        if verdict == "FAIL":
            reasons[name] = reason
    total, passed, failed = (int(number) for number in summaries[-1]) if summaries else (0, 0, 0)
    consistent = (
        bool(summaries) and total == len(results) and passed == sum(results.values()) == total - failed
    )
    finished = bool(found) and completed.ended is Ended.EXITED and consistent
    return CaseRun(results, reasons, total, finished, completed.exit_code, output)


def is_cut(run: CaseRun) -> bool:
    """Whether so much was printed that verdicts may be missing."""
    return _LEFT_OUT in run.output


def _blocks(reply: str) -> list[str]:
    """Contents of the code blocks marked as Python, or of all blocks when none is; one without its end is left out."""
    marked: list[str] = []
    plain: list[str] = []
    fence, language, lines = "", "", list[str]()
    for line in reply.splitlines(keepends=True):
        found = _FENCE.match(line)
        if not fence and found:
            fence, language, lines = found[1], found[2].lower(), []
        elif fence and found and not found[2] and len(found[1]) >= len(fence):
            if text := "".join(lines).strip("\r\n"):
                (marked if language in ("python", "py", "python3") else plain).append(text + "\n")
            fence = ""
        elif fence:
            lines.append(line)
    return marked or plain


def _yields(node: ast.FunctionDef) -> bool:
    inner = [
        child
        for child in ast.walk(node)
        if isinstance(child, ast.FunctionDef | ast.Lambda) and child is not node
    ]
    hidden = {id(part) for child in inner for part in ast.walk(child)}
    return any(
        isinstance(part, ast.Yield | ast.YieldFrom) and id(part) not in hidden for part in ast.walk(node)
    )


def _joined(stdout: str, completed: Completed) -> str:
    text = stdout.rstrip()
    if completed.stderr.strip():
        text += f"\n--- stderr ---\n{completed.stderr.rstrip()}"
    if completed.ended is Ended.TIMED_OUT:
        text += "\n--- the time was up ---"
    elif completed.exit_code is not None:
        text += f"\n--- exit status {completed.exit_code} ---"
    return text.lstrip("\n")


def _required(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional > 0 or any(default is None for default in arguments.kw_defaults)


def _without_main_block(text: str, tree: ast.Module) -> str:
    lines = text.split("\n")
    for node in reversed(tree.body):
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) and node.end_lineno:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)

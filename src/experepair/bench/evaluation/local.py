"""The local evaluator: the hidden tests of an instance, run in our own sandbox on an environments file."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, Field

from experepair.bench.environments import Environment, Environments
from experepair.bench.evaluation.applying import applied
from experepair.bench.evaluation.specs import Specs
from experepair.bench.evaluation.verdict import Judged, Verdict, judge, with_ids
from experepair.bench.instance import Answer, Instance
from experepair.bench.mirrors import Mirrors
from experepair.domain.command import Changes, Command, Completed, Ended
from experepair.domain.edit import Unparsed
from experepair.errors import UsageError
from experepair.sandbox.image import ImageChoice
from experepair.sandbox.interpreter import find_interpreter
from experepair.sandbox.open import Kind, open_sandbox
from experepair.sandbox.sandbox import IsolatedSandbox, Limits
from experepair.steps.report import write_all
from experepair.workspace.checkout import Checkout, checkout

_SETUP_FAILED = 97
"""Exit status that says that the set-up failed, not the tests."""
_DJANGO = "django/django"
LOG = "test_output.txt"
"""What the tests printed, as the leaderboard names it."""


class EvaluationConfig(BaseModel, frozen=True, extra="forbid"):
    """How hidden tests are run."""

    sandbox: Kind = Kind.AUTO
    """What isolates them."""
    time_s: float = Field(default=1800.0, gt=0)
    """Wall time of an instance's tests in seconds."""
    disk_mb: int = 4096
    """What the tests may write, in MiB."""
    memory_mb: int = 8192
    """Address space of each of their processes in MiB; 0 means no limit."""
    output_kb: int = 65536
    """How much of their log is kept in KiB; what is left out counts as not run."""

    def limits(self) -> Limits:
        """The same for the sandbox."""
        return Limits(
            time_s=self.time_s, disk_mb=self.disk_mb, memory_mb=self.memory_mb, output_kb=self.output_kb
        )


@dataclass(frozen=True)
class Evaluator:
    """Judges predictions on this machine.

    Attributes:
        mirrors: where the repositories are.
        environments: what their code runs in.
        specs: SWE-bench's test commands and parsers.
        checkouts: cache folder.
        logs: folder for the logs of the tests, with a folder for each instance.
        config: limits.
    """

    mirrors: Mirrors
    environments: Environments
    specs: Specs
    checkouts: Path
    logs: Path
    config: EvaluationConfig = field(default_factory=EvaluationConfig)

    async def evaluate(
        self,
        instance: Instance,
        answer: Answer,
        patch: str,
        left_out: Collection[str] = (),
        hash_seed: int = 0,
    ) -> Judged:
        """Apply a patch and the test patch, run the hidden tests, and judge.

        Args:
            instance: what was to be repaired.
            answer: its hidden tests.
            patch: the prediction; "" judges the untouched code.
            left_out: tests that fail here with and without the fix.
            hash_seed: PYTHONHASHSEED of the tests, unless the environment sets it.

        Raises:
            UsageError: the environment or the repository can't be had: nothing is said of the prediction.
            SandboxUnavailable: the tests can't be isolated.
        """
        judged = Judged(
            instance_id=instance.id,
            verdict=Verdict.ERROR,
            left_out=tuple(left_out),
            patch_digest=digest_of(patch),
        )
        if not answer.test_patch or not answer.fail_to_pass:
            raise UsageError(f"{instance.id} has no test_patch or no FAIL_TO_PASS to judge by")
        environment = self.environments.of(instance)
        repository = await asyncio.to_thread(self.mirrors.open, instance)
        commit = repository.resolve(instance.base_commit)
        tree = await asyncio.to_thread(checkout, repository, commit, self.checkouts)
        changes = await asyncio.to_thread(_changes, tree, patch, answer.test_patch)
        if isinstance(changes, Unparsed):
            return judged.model_copy(update={"why": changes.reason})
        variables = {"PYTHONHASHSEED": str(hash_seed), **environment.variables}
        command = Command(
            ("sh", "-c", self._script(instance, answer, environment, tree, changes)),
            env=tuple(sorted(variables.items())),
        )
        async with self._sandbox(environment, tree) as sandbox:
            done = await sandbox.run(command, changes)
        await asyncio.to_thread(write_all, self.logs / instance.id, {LOG: done.stdout})
        return await asyncio.to_thread(self._read, judged, instance, answer, environment, done)

    def _read(
        self,
        judged: Judged,
        instance: Instance,
        answer: Answer,
        environment: Environment,
        done: Completed,
    ) -> Judged:
        """The verdict that the log of the tests gives."""
        judged = judged.model_copy(update={"seconds": round(done.duration_s, 1)})
        if done.exit_code == _SETUP_FAILED:
            last = done.stdout.strip().splitlines()[-1:]
            return judged.model_copy(update={"why": f"the set-up failed: {' '.join(last)[:300]}"})
        log = with_ids(done.stdout) if instance.repo == _DJANGO else done.stdout
        statuses = self.specs.statuses(environment.parser or instance.repo, instance.version, log)
        verdict, fail_to_pass, pass_to_pass = judge(answer, statuses, judged.left_out)
        why = ""
        if done.ended is not Ended.EXITED:
            verdict, why = Verdict.ERROR, f"the tests were {done.ended} after {done.duration_s:.0f} s"
        return judged.model_copy(
            update={
                "verdict": verdict,
                "why": why,
                "fail_to_pass": fail_to_pass,
                "pass_to_pass": pass_to_pass,
            }
        )

    def _sandbox(
        self, environment: Environment, tree: Checkout
    ) -> AbstractAsyncContextManager[IsolatedSandbox]:
        image = interpreter = None
        if environment.image:
            image = ImageChoice(environment.image, str(environment.root), environment.python)
        else:
            interpreter = find_interpreter(tree.root, environment.python, rootfs=environment.rootfs)
        return open_sandbox(
            self.config.sandbox,
            tree=tree.root,
            mount_at=environment.root,
            interpreter=interpreter,
            image=image,
            limits=self.config.limits(),
            rootfs=environment.rootfs,
        )

    def _script(
        self, instance: Instance, answer: Answer, environment: Environment, tree: Checkout, changes: Changes
    ) -> str:
        plan = self.specs.plan(instance, answer)
        told = environment.test_command or plan.command
        if not told:
            raise UsageError(
                f"SWE-bench has no test command for {instance.repo} {instance.version}; "
                "give test_command in the environments file"
            )
        there = [path for path in plan.paths if changes.get(path, tree.read(path)) is not None]
        tests = " ".join(shlex.quote(_label(path) if instance.repo == _DJANGO else path) for path in there)
        run = told.replace("{tests}", tests) if "{tests}" in told else f"{told} {tests}"
        prepare = f"( {environment.setup}\n) || exit {_SETUP_FAILED}\n" if environment.setup else ""
        return f"exec 2>&1\n{prepare}{run}\n"


def digest_of(patch: str) -> str:
    """Tells patches apart."""
    return hashlib.sha256(patch.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _changes(tree: Checkout, patch: str, test_patch: str) -> Changes | Unparsed:
    """Both patches on the base commit; the files of the test patch are as it makes them, whatever the prediction did."""
    made = applied(tree, patch) if patch.strip() else {}
    tests = applied(tree, test_patch)
    if isinstance(made, Unparsed):
        return made
    if isinstance(tests, Unparsed):
        return Unparsed(f"the test patch: {tests.reason}", "")
    return {**made, **tests}


def _label(path: str) -> str:
    """A test file as Django's runner takes it: tests/a/b.py is a.b."""
    return path.removeprefix("tests/").removesuffix(".py").replace("/", ".")

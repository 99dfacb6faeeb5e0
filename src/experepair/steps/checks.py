"""What a candidate has to pass: a script of cases, or a test that the repository has already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from experepair.domain.command import NO_CHANGES, Changes, Command
from experepair.domain.outcome import Outcome
from experepair.localize.executed import Lines
from experepair.steps import cases
from experepair.steps.cases import CaseRun, Script
from experepair.steps.existing import with_tests_restored
from experepair.steps.kit import Kit
from experepair.steps.observe import traced
from experepair.testing.framework import Framework

SCRIPT_NAME = "experepair_{name}.py"
"""Where a script is laid in the tree while it runs."""


class Check(Protocol):
    """Something that can be run on a tree and says by its cases what works."""

    @property
    def name(self) -> str:
        """Names it in tables and prompts."""
        ...

    @property
    def source(self) -> str:
        """What the agents are shown of it."""
        ...

    async def run(self, kit: Kit, changes: Changes = NO_CHANGES) -> CaseRun:
        """Run it on a private copy of the tree with `changes` laid over."""
        ...

    async def trace(self, kit: Kit) -> Mapping[str, Lines]:
        """A line in each function that each of its tests calls on the untouched code; empty if that can't be told."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptCheck:
    """A script that an agent wrote."""

    name: str
    script: Script

    @property
    def source(self) -> str:
        """The cases, without the main block that is the same for all scripts."""
        return self.script.body

    @property
    def path(self) -> str:
        """Where it lies in the tree while it runs."""
        return SCRIPT_NAME.format(name=self.name.lower())

    async def run(self, kit: Kit, changes: Changes = NO_CHANGES) -> CaseRun:
        """Lay the script into the tree and run it to its end."""
        command, token = cases.command(self.path, kit.run_id, self.script)
        laid = {**changes, self.path: self.script.source.encode("utf-8", "surrogatepass")}
        completed = await kit.run(command, laid, purpose=f"script {self.name}")
        return cases.read_run(completed, token)

    async def trace(self, kit: Kit) -> Mapping[str, Lines]:
        """Run the script once more, with the calls noted."""
        laid = {self.path: self.script.source.encode("utf-8", "surrogatepass")}
        return await traced(Command(("{python}", "-I", self.path)), self.path, laid, kit)


@dataclass(frozen=True, slots=True)
class ExistingTest:
    """A test of the repository, named by its id."""

    node_id: str
    framework: Framework

    @property
    def name(self) -> str:
        """The id itself."""
        return self.node_id

    @property
    def source(self) -> str:
        """The id as a comment: the test's own source is in the repository."""
        return f"# the repository's own test {self.node_id}"

    async def run(self, kit: Kit, changes: Changes = NO_CHANGES) -> CaseRun:
        """Run this one test."""
        target = self.framework.single(self.node_id)
        completed = await kit.run(
            target.command, with_tests_restored(changes, kit), purpose=f"test {self.node_id}"
        )
        run = target.parse(completed)
        results = {name: outcome is Outcome.PASSED for name, outcome in run.results.items()}
        reasons = {
            name: str(outcome) for name, outcome in run.results.items() if outcome is not Outcome.PASSED
        }
        finished = run.finished and bool(results)
        return CaseRun(results, reasons, len(results), finished, completed.exit_code, run.output)

    async def trace(self, kit: Kit) -> Mapping[str, Lines]:
        """Run the test once more, with the calls noted, if its runner is a Python program."""
        return await traced(self.framework.single(self.node_id).command, "test", NO_CHANGES, kit)

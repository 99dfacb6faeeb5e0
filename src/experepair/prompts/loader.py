"""Prompts are files: one template each, rendered into the parts that are sent."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from experepair.domain.memory import Recalled
from experepair.domain.roles import Agent
from experepair.domain.text import visible
from experepair.llm.request import Cut, Part, Prompt

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_NEVER, _MIDDLE, _DROP = Cut.NEVER, Cut.MIDDLE, Cut.DROP
PARTS = {
    "issue": _NEVER,
    "code": _NEVER,
    "context": _DROP,
    "memory": _DROP,
    "task": _NEVER,
    "feedback": _MIDDLE,
}
"""Parts of every prompt in their order, and what may be cut of them where the window is too small.

What most calls of an issue have in common comes first, what varies comes last.
"""

_SPLIT = "\x1e"
"""Stands in a template where its part may be cut into several."""

_TAGS = "issue|code|insights|demonstration|output|candidate"
_CLOSING = re.compile(rf"<(/\s*(?:{_TAGS})\b)", re.IGNORECASE)
_BACKTICKS = re.compile(r"`+")
_NOTHING = Recalled()
TASKS = {Agent.TEST: "script", Agent.PATCH: "patch"}
"""What each agent writes, in words."""


def render(name: str, *, recalled: Recalled = _NOTHING, agent_task: str = "", **values: object) -> Prompt:
    """Fill in the template of a task.

    Args:
        name: file name without its ending; its blocks are the parts of the prompt.
        recalled: from memory; an empty one adds nothing to the prompt.
        agent_task: what the agent writes, "script" or "patch".
        values: what the template's first line says it needs; a name that is missing is an error.

    Returns:
        The prompt, its parts in the order of `PARTS`, empty ones left out.
    """
    values = {"recalled": recalled, "agent_task": agent_task, "split": _SPLIT, **values}
    environment = _environment()
    template = environment.get_template(f"{name}.md.j2")
    context = template.new_context(values)
    parts: list[Part] = []
    for part, cut in PARTS.items():
        if part in template.blocks:
            text = "".join(template.blocks[part](context))
        elif part == "issue":
            text = environment.get_template("issue.md.j2").render(values)
        elif part == "memory":
            parts.extend(shown for shown, _ in remembered(recalled, agent_task))
            continue
        else:
            continue
        pieces = (piece.strip("\n") for piece in text.split(_SPLIT))
        parts.extend(Part(part, piece, cut) for piece in pieces if piece)
    return Prompt(environment.get_template("system.md.j2").render().strip("\n"), tuple(parts))


def remembered(recalled: Recalled, agent_task: str) -> list[tuple[Part, tuple[str, ...]]]:
    """What memory adds to a prompt: all insights as one part, then each demonstration, with the ids that each part shows."""
    environment, parts = _environment(), list[tuple[Part, tuple[str, ...]]]()
    if recalled.insights:
        text = environment.get_template("insights.md.j2").render(insights=recalled.insights)
        parts.append((Part("memory", text.strip("\n"), _DROP), tuple(one.id for one in recalled.insights)))
    for one in recalled.demonstrations:
        text = environment.get_template("demonstration.md.j2").render(
            demonstration=one, agent_task=agent_task
        )
        parts.append((Part("memory", text.strip("\n"), _DROP), (one.id,)))
    return parts


def prose(text: str) -> str:
    """Text for between tags: a closing tag in it stays readable but closes nothing, control marks are shown."""
    return visible(_CLOSING.sub(r"<\\\1", text)).strip()


def code(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in it, so that nothing in it can close it.

    The text is shown verbatim, since a model has to copy from it.
    """
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import PackageLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts are text for a model, not HTML: `prose` and `code` do the escaping that they need.
    environment = ImmutableSandboxedEnvironment(
        loader=PackageLoader("experepair.prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters.update(prose=prose, code=code, line=lambda text: " ".join(text.split()))
    return environment

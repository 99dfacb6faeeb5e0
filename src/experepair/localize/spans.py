"""The lines that a model gets to read: whole definitions, with what they need around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from experepair.domain.place import Span
from experepair.localize.languages import Definition, Kind, Language, Statement, language_of
from experepair.localize.text import lines_of, tokens_of, utf8_of

Read = Callable[[str], bytes | None]
"""Content of a file by its path; None when there is none."""

_CONTEXT = 8
"""Lines shown around chosen lines that are in no definition."""
_NEAR = 3
"""Spans with at most this many lines between them are shown as one."""
_CHEAP_LINES = 40
"""A neighbour longer than this isn't shown unless it was chosen."""
_NAME = re.compile(r"[^\W\d]\w*")


def spans(chosen: Iterable[Span], read: Read, *, max_tokens: int = 12_000) -> tuple[Span, ...]:
    """Grow choices to whole definitions, and add their neighbours, as far as the budget goes.

    Neighbours of a function are the head of its class, the class's initializer, and the imports and
    module constants that it uses. All choices come before any neighbour; what doesn't fit is cut
    (the first choice) or left out.

    Args:
        chosen: most wanted first. A choice without a name is lines; one whose `start` is 0 is the
            definition of that qualified (or simple) name, or the whole file when the name is "".
        read: gives the content of files; unknown files are left out.
        max_tokens: about how long the rendered text may be.

    Returns:
        Disjoint spans, grouped by file, files in the order of their first choice, lines ascending.
    """
    files: dict[str, _File] = {}
    left = max_tokens
    grown: list[tuple[_File, _Range]] = []
    for choice in chosen:
        if choice.path not in files:
            content = read(choice.path)
            if content is None:
                continue
            files[choice.path] = _File(choice.path, content)
        file = files[choice.path]
        for wanted in file.grow(choice):
            left -= file.take(wanted, left, cut=not grown)
            grown.append((file, wanted))
    for neighbours in (_File.heads, _File.constants, _File.initializers):
        for file, wanted in grown:
            for neighbour in neighbours(file, wanted):
                left -= file.take(neighbour, left)
    return tuple(span for file in files.values() for span in file.spans())


def render(chosen: Sequence[Span], read: Read) -> str:
    """The text of spans for a prompt: verbatim, without line numbers, gaps marked, files headed.

    Args:
        chosen: disjoint; those of a file next to each other and ascending, as `spans` gives them.
        read: gives the content of files; unknown files are left out.
    """
    out: list[str] = []
    path, lines, after = "", list[str](), 1
    for span in chosen:
        if span.path != path:
            _gap(out, after, len(lines))
            path, after = span.path, 1
            lines = lines_of(read(path) or b"")
            out += ["", f"### {path}"] if out else [f"### {path}"]
        _gap(out, after, span.start - 1)
        out += lines[span.start - 1 : span.end]
        after = span.end + 1
    _gap(out, after, len(lines))
    return "\n".join(out) + "\n" if out else ""


def _gap(out: list[str], start: int, end: int) -> None:
    if start <= end:
        where = f"lines {start}-{end} are" if start < end else f"line {start} is"
        out.append(f"[… {where} not shown …]")


@dataclass(frozen=True, slots=True)
class _Range:
    """Lines of a file, and the position of the definition that they are."""

    start: int
    end: int
    definition: int = 0
    name: str = ""


@dataclass
class _File:
    """One file, and which of its lines are shown."""

    path: str
    content: bytes
    shown: set[int] = field(default_factory=set)
    taken: list[_Range] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[str]:
        return lines_of(self.content)

    @cached_property
    def _language(self) -> Language | None:
        return language_of(self.path)

    @cached_property
    def _definitions(self) -> tuple[Definition, ...]:
        return self._language.outline(utf8_of(self.content)).definitions if self._language else ()

    @cached_property
    def _statements(self) -> tuple[Statement, ...]:
        return self._language.statements(utf8_of(self.content)) if self._language else ()

    def _name(self, position: int) -> str:
        names = []
        while position:
            names.append(self._definitions[position].name)
            position = self._definitions[position].parent
        return ".".join(reversed(names))

    def grow(self, choice: Span) -> Iterator[_Range]:
        """The definitions that a choice means."""
        if choice.start <= 0:
            if not choice.name:
                yield _Range(1, len(self.lines))
                return
            wanted = choice.name.rpartition(":")[2].removesuffix("()")
            found = [
                position
                for position in range(1, len(self._definitions))
                if self._name(position) == wanted or self._name(position).endswith("." + wanted)
            ]
            exact = [position for position in found if self._name(position) == wanted]
            yield from map(self._range, (exact or found)[:5])
            if not found:
                yield from self._bound(wanted)
            return
        start, end = min(choice.start, choice.end), max(choice.start, choice.end)
        start, end = max(start, 1), min(end, len(self.lines))
        covered = start
        for position in self._enclosing(start, end):
            found_range = self._range(position)
            if found_range.start > covered:
                yield self._around(covered, found_range.start - 1)
            yield found_range
            covered = max(covered, found_range.end + 1)
        if covered <= end:
            yield self._around(covered, end)

    def _bound(self, name: str) -> Iterator[_Range]:
        """The statements of the module that bind a name."""
        for statement in self._language.statements(self.content) if self._language else ():
            if name in statement.binds:
                yield _Range(statement.start, statement.end, name=name)

    def _around(self, start: int, end: int) -> _Range:
        return _Range(max(1, start - _CONTEXT), min(len(self.lines), end + _CONTEXT))

    def _enclosing(self, start: int, end: int) -> Iterator[int]:
        """Outermost functions that hold some of the lines, in order; a class when it is chosen as such."""
        for position, definition in enumerate(self._definitions):
            if definition.kind is Kind.CLASS and (definition.start, definition.end) == (start, end):
                yield position
                return
        for position, definition in enumerate(self._definitions):
            if definition.kind is Kind.FUNCTION and definition.start <= end and definition.end >= start:
                yield position

    def _range(self, position: int) -> _Range:
        found = self._definitions[position]
        return _Range(found.start, found.end, position, self._name(position))

    def take(self, wanted: _Range, left: int, *, cut: bool = False) -> int:
        """Show lines if they fit into the tokens left, or as many as fit if `cut`; return what it cost."""
        cost, added = 0, set[int]()
        for number in range(wanted.start, wanted.end + 1):
            if number in self.shown:
                continue
            line_cost = tokens_of(self.lines[number - 1] + "\n")
            if cost + line_cost > left:
                if not cut:
                    return 0
                break
            cost += line_cost
            added.add(number)
        self.shown |= added
        if added and wanted.name:
            self.taken.append(wanted)
        return cost

    def heads(self, wanted: _Range) -> Iterator[_Range]:
        """The classes around a definition: from their first line to where their body begins."""
        above = self._definitions[wanted.definition].parent if wanted.definition else 0
        while above:
            head = self._definitions[above]
            yield _Range(head.start, max(head.start, head.body - 1))
            above = head.parent

    def initializers(self, wanted: _Range) -> Iterator[_Range]:
        """The initializer of the class that a method belongs to."""
        parent = self._definitions[wanted.definition].parent if wanted.definition else 0
        for position, definition in enumerate(self._definitions):
            if parent and definition.parent == parent and definition.name in ("__init__", "__new__"):
                found = self._range(position)
                if found.end - found.start < _CHEAP_LINES:
                    yield found

    def constants(self, wanted: _Range) -> Iterator[_Range]:
        """Imports and module constants whose names occur in the lines."""
        text = "\n".join(self.lines[wanted.start - 1 : wanted.end])
        used = set(_NAME.findall(text))
        for statement in self._statements:
            if statement.end - statement.start < _CHEAP_LINES and statement.binds & used:
                yield _Range(statement.start, statement.end)

    def spans(self) -> Iterator[Span]:
        """What is shown, near lines together."""
        numbers = sorted(self.shown)
        if not numbers:
            return
        start = previous = numbers[0]
        for number in [*numbers[1:], numbers[-1] + _NEAR + 2]:
            if number - previous > _NEAR + 1:
                yield Span(self.path, start, previous, self._named(start, previous))
                start = number
            previous = number

    def _named(self, start: int, end: int) -> str:
        names = (each.name for each in self.taken if start <= each.start <= end)
        return next(names, "")

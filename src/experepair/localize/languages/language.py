"""What a language has to tell about a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol


class Kind(IntEnum):
    """What a definition is; the numbers are stored in the index."""

    MODULE = 0
    CLASS = 1
    FUNCTION = 2
    INNER = 3
    """Anything that is defined inside a function; its text counts as that function's."""


class Definition(NamedTuple):
    """A class, function or method, decorators included; the first of a file is the module itself.

    Attributes:
        kind: what it is.
        name: its simple name; "" for the module.
        start: first line, from 1.
        end: last line, included.
        body: line on which the body begins, after the signature; `end` + 1 for an empty body.
        parent: position of the enclosing definition in the outline; 0 is the module.
        span: start and end as byte offsets.
        head: byte offsets of its signature, from the keyword to the body.
        doc: byte offsets of its docstring, both 0 without one.
    """

    kind: Kind
    name: str
    start: int
    end: int
    body: int
    parent: int
    span: tuple[int, int]
    head: tuple[int, int]
    doc: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the module itself, or of a class, that definitions may need.

    Attributes:
        start: first line, from 1.
        end: last line, included.
        binds: names that it gives a meaning.
        imports: whether it is an import.
    """

    start: int
    end: int
    binds: frozenset[str]
    imports: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of one file, in order of their first lines, the module first."""

    definitions: tuple[Definition, ...]

    def qualified(self, position: int) -> str:
        """Dotted name of a definition within its file."""
        names: list[str] = []
        while position:
            names.append(self.definitions[position].name)
            position = self.definitions[position].parent
        return ".".join(reversed(names))


class Language(Protocol):
    """How files of a language are read."""

    def outline(self, content: bytes) -> Outline:
        """Definitions of a file; one that can't be parsed gives what can be recognized, never an error."""
        ...

    def statements(self, content: bytes) -> tuple[Statement, ...]:
        """Imports and assignments at the top of a file, in order."""
        ...

    def module(self, path: str) -> str:
        """Dotted name by which other files refer to this one."""
        ...

    def is_test(self, path: str) -> bool:
        """Whether the file holds tests, by its path."""
        ...

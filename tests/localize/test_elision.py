"""Outlines don't change when bodies are blanked."""

from __future__ import annotations

import textwrap

import pytest
import tree_sitter
import tree_sitter_python
from hypothesis import given, settings
from hypothesis import strategies as st

from experepair.localize.languages import Definition, Kind
from experepair.localize.languages.elision import elided
from experepair.localize.languages.python import _walk

LONG = "value = compute(first, [second, third], {'fourth': fifth})  # said"
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))


def outline(content: bytes) -> list[Definition]:
    found = [Definition(Kind.MODULE, "", 1, 1, 1, 0, (0, 0), (0, 0))]
    _walk(PARSER.parse(content).root_node, content, found)
    return found


def body(*lines: str, indent: str = "    ") -> str:
    return "".join(f"{indent}{line}\n" for line in lines)


BODIES = {
    "statements": body(LONG, LONG, "return value"),
    "a docstring": body('"""What it does."""', LONG, LONG, "return value"),
    "a docstring on lines": body("r'''What", "  it does.", "'''", "", LONG, LONG, "return value"),
    "a plain docstring": body("'What it does.'", LONG, LONG, "return value"),
    "a comment first": body("# why", LONG, LONG, "return value"),
    "a comment last": body(LONG, LONG, "return value  # so", "# and more"),
    "deeper at its end": body(LONG, LONG, "if value:", "    return value"),
    "an inner function": body(LONG, LONG, "def inner():", "    return 1", "return inner"),
    "a long string": body(LONG, LONG, 'text = """a', "  b", '"""', "return text"),
    "brackets to the left": body(LONG, LONG) + "    call(\nfirst)\n",
    "a bracket in a string": body(LONG, LONG, "return '('"),
    "a continuation": body(LONG, LONG, "return value + \\", "    1"),
    "tabs": body(LONG, LONG, "return value", indent="\t"),
}


@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("where", ["module", "class"])
def test_an_outline_is_the_same_without_bodies(text: str, where: str) -> None:
    code = f"def first(a):\n{text}\n\nasync def second(a, b):  # noqa\n{text}def third(): pass\n"
    if where == "class":
        code = "class Outer:\n" + textwrap.indent(code, "\t" if "\t" in text else "    ")
    content = code.encode()
    short = elided(content)
    assert len(short) == len(content)
    assert outline(short) == outline(content)


def test_bodies_are_really_left_out() -> None:
    content = ("def work(a):\n" + BODIES["a docstring"]).encode()
    assert b"compute" not in elided(content)
    assert b"What it does" in elided(content)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([*BODIES.values(), "    pass\n"]), min_size=1, max_size=5),
    st.sampled_from(["", "@decorated\n", "if True:\n    x = 1\n"]),
)
def test_any_sequence_of_functions_has_the_same_outline(bodies: list[str], before: str) -> None:
    content = "".join(f"{before}def f{n}(a):\n{text}\n" for n, text in enumerate(bodies)).encode()
    assert outline(elided(content)) == outline(content)


@given(st.binary(max_size=400))
def test_any_bytes_keep_their_length_and_lines(content: bytes) -> None:
    short = elided(content)
    assert len(short) == len(content)
    assert short.count(b"\n") == content.count(b"\n")

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.place import Span
from experepair.localize import skeleton, tokens_of

CODE = b'''"""Module."""
import os


@decorated
class Outer(Base, metaclass=Meta):
    """What it is.

    More.
    """

    limit = 3

    async def method(
        self,
        first: int,  # a comment
        second="#",
    ) -> None:
        """Do it."""
        def inner():
            pass

    class Nested:
        def deep(self): return 1


if os.name:
    def conditional(): pass
'''


def test_the_outline_has_signatures_first_docstring_lines_and_line_numbers() -> None:
    assert skeleton("a.py", CODE).splitlines() == [
        "class Outer(Base, metaclass=Meta):  # 5-24",
        '    """What it is."""',
        '    async def method(self, first: int, second="#") -> None:  # 14-21',
        '        """Do it."""',
        "    class Nested:  # 23-24",
        "        def deep(self):  # 24-24",
        "def conditional():  # 28-28",
    ]


def test_the_assignments_of_a_module_are_in_its_outline_long_ones_cut() -> None:
    code = b"LIMIT = 3\nNAMES = {\n    'a': 1,\n}\n\n\ndef use():\n    inner = LIMIT\n\n\nLIMIT += 1\n"
    assert skeleton("a.py", code).splitlines() == [
        "LIMIT = 3  # 1",
        "NAMES = { …  # 2-4",
        "def use():  # 7-8",
        "LIMIT += 1  # 11",
    ]


def test_definitions_come_before_assignments_in_the_budget() -> None:
    code = "".join(f"CONSTANT_{n} = {n}\n" for n in range(300)) + "def last(alpha, beta): pass\n"
    outline = skeleton("a.py", code.encode(), max_tokens=60)
    assert "def last(alpha, beta):" in outline
    assert "more" in outline


@pytest.mark.parametrize(
    ("doc", "shown"),
    [
        ('''"""'quoted' words."""''', '''"""'quoted' words."""'''),
        ("'It is.'", '"""It is."""'),
        ('r"""\n    On the next line.\n    """', '"""On the next line."""'),
        ('"""Says "hello".  """', '"""Says "hello"."""'),
    ],
)
def test_a_docstring_loses_its_own_quotes_only(doc: str, shown: str) -> None:
    assert skeleton("a.py", f"def f():\n    {doc}\n".encode()).splitlines()[1].strip() == shown


def test_a_long_file_keeps_the_best_in_full_and_counts_the_rest() -> None:
    code = "".join(f"def f{n}(alpha, beta, gamma):\n    '''Says {n}.'''\n\n" for n in range(200)).encode()
    best = [Span("a.py", 3 * 150 + 1, 3 * 150 + 2, "f150")]
    outline = skeleton("a.py", code, max_tokens=200, best=best)
    assert "def f150(alpha, beta, gamma):" in outline
    assert "Says 150." in outline
    assert "… " in outline
    assert tokens_of(outline) < 300


def test_other_files_have_no_outline() -> None:
    assert skeleton("a.txt", CODE) == ""
    assert skeleton("a.py", b"") == ""


@given(st.binary(max_size=300), st.integers(0, 100))
def test_any_bytes_have_an_outline_within_the_budget(content: bytes, budget: int) -> None:
    outline = skeleton("a.py", content + b"\ndef last(): pass\n", max_tokens=budget)
    assert tokens_of(outline) <= budget + 20

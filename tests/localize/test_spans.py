from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.place import Span
from experepair.localize import render, spans, tokens_of

CODE = b'''import os
import sys





OTHER = 20





LIMIT = 10





class Box:
    """A box."""

    size = 3

    def __init__(self):
        self.items = []





    def put(self, item):
        if len(self.items) < LIMIT:
            self.items.append(item)





    def get(self):
        return self.items.pop()


def free():
    return os.sep
'''
FILES = {"box.py": CODE, "notes.txt": b"one\ntwo\nthree\n" * 40}
LINES = CODE.decode().split("\n")


def shown(chosen: list[Span], **more: int) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans(chosen, FILES.get, **more)]


def text_of(chosen: list[Span]) -> str:
    return render(spans(chosen, FILES.get), FILES.get)


def test_a_line_grows_to_its_function_with_class_initializer_and_constants() -> None:
    text = text_of([Span("box.py", 34, 34)])
    for line in (
        "LIMIT = 10",
        "class Box:",
        "self.items = []",
        "def put(self, item):",
        "self.items.append(item)",
    ):
        assert line in text
    for line in ("def get(self):", "OTHER = 20", "import os", "def free():"):
        assert line not in text


def test_a_name_stands_for_its_definition() -> None:
    by_name, simple = shown([Span("box.py", 0, 0, "Box.put")]), shown([Span("box.py", 0, 0, "put")])
    assert by_name == simple == shown([Span("box.py", 34, 34)])


def test_an_unknown_name_or_file_is_left_out() -> None:
    assert shown([Span("box.py", 0, 0, "Box.nothing"), Span("gone.py", 1, 2)]) == []


def test_a_file_without_lines_or_name_is_shown_as_a_whole() -> None:
    assert shown([Span("box.py", 0, 0)]) == [(1, len(LINES) - 1)]


def test_lines_outside_of_definitions_come_with_some_around() -> None:
    assert shown([Span("notes.txt", 60, 61)]) == [(52, 69)]


def test_a_chosen_class_is_shown_as_a_whole() -> None:
    assert (20, 41) in shown([Span("box.py", 20, 41, "Box")])


def test_files_keep_the_order_of_their_first_choice() -> None:
    chosen = spans([Span("notes.txt", 1, 1), Span("box.py", 45, 45), Span("notes.txt", 90, 90)], FILES.get)
    assert list(dict.fromkeys(span.path for span in chosen)) == ["notes.txt", "box.py"]


def test_the_first_choice_is_cut_when_it_is_too_long_and_others_are_left_out() -> None:
    (span,) = spans([Span("notes.txt", 0, 0), Span("box.py", 34, 34)], FILES.get, max_tokens=30)
    assert span.path == "notes.txt"
    assert span.start == 1
    assert span.end < 60


def test_the_text_is_verbatim_with_gaps_marked() -> None:
    assert text_of([Span("box.py", 45, 45)]).splitlines() == [
        "### box.py",
        "import os",
        "[… lines 2-43 are not shown …]",
        "def free():",
        "    return os.sep",
    ]


def test_line_ends_and_encodings_do_not_show() -> None:
    files = {"a.py": b"# coding: latin-1\r\ndef d\xe9j\xe0():\r\n    return 1\r\n"}
    assert render(spans([Span("a.py", 0, 0, "déjà")], files.get), files.get).splitlines()[-2:] == [
        "def déjà():",
        "    return 1",
    ]


@given(
    st.lists(
        st.builds(
            Span, st.sampled_from(["box.py", "notes.txt", "none"]), st.integers(-5, 200), st.integers(-5, 200)
        )
    ),
    st.integers(0, 500),
)
def test_spans_are_disjoint_ascending_within_the_files_and_the_budget(
    chosen: list[Span], budget: int
) -> None:
    found = spans(chosen, FILES.get, max_tokens=budget)
    for first, second in pairwise(found):
        assert first.path != second.path or first.end < second.start
    for span in found:
        assert 1 <= span.start <= span.end <= len(FILES[span.path].split(b"\n"))
    assert spans(found, FILES.get, max_tokens=10**6) or not found
    assert tokens_of(render(found, FILES.get)) <= budget * 1.5 + 20 * (len(found) + 1) + 60

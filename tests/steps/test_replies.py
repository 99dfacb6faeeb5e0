from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.edit import Unparsed
from experepair.domain.place import Span
from experepair.steps.replies import (
    Verdict,
    read_applied,
    read_choice,
    read_files,
    read_places,
    read_verdict,
)

KNOWN = frozenset({"a.py", "src/b.py"})


def test_the_last_verdict_counts_and_what_stands_before_it_are_the_reasons() -> None:
    reply = "I would say <verdict>no</verdict>, but the case fails rightly.\n<verdict> YES </verdict>"
    assert read_verdict(reply) == Verdict(True, reply[: reply.rindex("<verdict>")].strip())


@pytest.mark.parametrize("reply", ["", "yes", "<verdict>maybe</verdict>", "<verdict>yes"])
def test_a_reply_without_a_verdict_is_data(reply: str) -> None:
    assert isinstance(read_verdict(reply), Unparsed)


def test_files_are_read_in_order_once_and_only_if_they_exist() -> None:
    reply = "Because.\n<files>\n- `src/b.py`\n./a.py\n/etc/passwd\nsrc/b.py (again)\nmissing.py\n</files>"
    assert read_files(reply, KNOWN) == ("src/b.py", "a.py")


def test_a_list_of_files_that_is_cut_off_is_used_as_far_as_it_goes() -> None:
    assert read_files("<files>\na.py\nsrc/b", KNOWN) == ("a.py",)


@pytest.mark.parametrize("reply", ["a.py", "<files></files>", "<files>\nnowhere.py\n</files>"])
def test_a_reply_without_known_files_is_data(reply: str) -> None:
    assert isinstance(read_files(reply, KNOWN), Unparsed)


def test_places_are_definitions_or_lines() -> None:
    reply = (
        "<places>\na.py: Class.method\n- `src/b.py`: 10-24\na.py: lines 7\na.py: def helper(x, y)\n"
        "elsewhere.py: f\na.py: 9-3\na.py\n</places>"
    )
    assert read_places(reply, KNOWN) == (
        Span("a.py", 0, 0, "Class.method"),
        Span("src/b.py", 10, 24),
        Span("a.py", 7, 7),
        Span("a.py", 0, 0, "helper"),
        Span("a.py", 9, 9),
        Span("a.py", 0, 0),
    )


def test_only_a_candidate_can_be_chosen() -> None:
    assert read_choice("<choice>P1.1</choice> no: <choice>R2</choice>", {"R2", "P1.1"}) == "R2"
    assert isinstance(read_choice("<choice>R9</choice>", {"R2"}), Unparsed)
    assert isinstance(read_choice("R2", {"R2"}), Unparsed)


def test_applied_insights_are_numbers_once() -> None:
    assert read_applied("<applied>2, 5, 2 and 11</applied>") == (2, 5, 11)
    assert read_applied("none of them") == ()


@given(st.text(alphabet=st.sampled_from("<>/filesplacesverdictchoiceapplied \n:-0123456789\x00")))
def test_no_reply_makes_a_reader_fail(reply: str) -> None:
    for read in (
        read_verdict(reply), read_files(reply, KNOWN), read_places(reply, KNOWN), read_choice(reply, KNOWN),
    ):  # fmt: skip
        assert read is not None
    read_applied(reply)


@pytest.mark.parametrize(
    "piece", ["<files>", "<verdict>", "<choice>", "<applied>", "<places>a.py:", "```python\n"]
)
def test_a_reply_of_ten_megabytes_is_read_in_linear_time(piece: str) -> None:
    reply = piece * (10_000_000 // len(piece))
    started = time.process_time()
    read_verdict(reply), read_files(reply, KNOWN), read_places(reply, KNOWN), read_choice(reply, KNOWN)
    read_applied(reply)
    assert time.process_time() - started < 20  # quadratic reading would take hours

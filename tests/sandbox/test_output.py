"""Head and tail of a stream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experepair.sandbox.output import HeadTail


def fed(chunks: list[bytes], size: int) -> str:
    kept = HeadTail(size)
    for chunk in chunks:
        kept.feed(chunk)
    return kept.text()


@given(st.lists(st.binary(max_size=50)))
def test_what_fits_is_kept_whole(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert fed(chunks, len(whole)) == whole.decode(errors="replace")


@given(st.lists(st.text(st.characters(codec="ascii"), min_size=1, max_size=30)), st.integers(2, 40))
def test_of_what_does_not_fit_both_ends_are_kept_and_the_rest_is_counted(
    chunks: list[str], size: int
) -> None:
    whole = "".join(chunks)
    text = fed([chunk.encode() for chunk in chunks], size)
    if len(whole) <= size:
        assert text == whole
    else:
        head, tail = whole[: size // 2], whole[len(whole) - (size - size // 2) :]
        assert text == f"{head}\n[... {len(whole) - size} bytes left out ...]\n{tail}"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert fed([b"a\xffb"], 10) == "a�b"

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experepair.domain.edit import Edit
from experepair.workspace.edits import (
    Applied,
    EditConfig,
    Refused,
    apply_edits,
    parse_edits,
    sensitive,
)
from experepair.workspace.matching import MatchConfig
from experepair.workspace.text import lines_of
from experepair.workspace.tree import Tree

FUNCTION = """class A:
    def area(self):
        total = 0
        for side in self.sides:
            total += side

        return total

    def name(self):
        return "a"
"""


def applied(edits: list[Edit], files: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
    result = apply_edits(edits, files.get)
    assert isinstance(result, Applied), result
    return result.changes


def refused(edits: list[Edit], files: Mapping[str, bytes]) -> str:
    result = apply_edits(edits, files.get)
    assert isinstance(result, Refused), result
    return result.reason


def block(path: str, original: str, patched: str) -> str:
    return f"<file>{path}</file>\n<original>\n{original}\n</original>\n<patched>\n{patched}\n</patched>\n"


# --- reading a reply


@pytest.mark.parametrize(
    "reply",
    [
        block("a.py", "x = 1", "x = 2"),
        f"First the analysis.\n\n# modification 1\n```\n{block('a.py', 'x = 1', 'x = 2')}```\nThat's it.",
        "<file>a.py</file><original>x = 1</original><patched>x = 2</patched>",
        "<file>\na.py\n</file>\n<original>\n```python\nx = 1\n```\n</original>\n<patched>\n```python\nx = 2\n```\n</patched>",
        block("a.py", "x = 1", "x = 2").replace("\n", "\r\n"),
        "  <file>a.py</file>\n  <original>\nx = 1\n  </original>\n  <patched>\nx = 2\n  </patched>",
        "Use `<file>`, `<original>` and `<patched>`.\n"
        + block("a.py", "x = 1", "x = 2")
        + "The `<original>` is exact.",
        "<file>...</file>\n<original>...</original>\n<patched>...</patched>\n"
        + block("a.py", "x = 1", "x = 2"),
        block("a.py", "x = 1", "x = 2") * 2,
    ],
)
def test_an_edit_is_read_however_it_is_wrapped(reply: str) -> None:
    edits, unparsed = parse_edits(reply)
    assert edits == (Edit("a.py", "x = 1", "x = 2"),)
    assert unparsed == ()


def test_several_edits_below_one_file_and_several_files_are_read_in_order() -> None:
    more = "then\n<original>\nb\n</original>\n<patched>\nB\n</patched>\n"
    edits, unparsed = parse_edits(block("a.py", "a", "A") + more + "```\n" + block("c.py", "c", "") + "```")
    assert edits == (Edit("a.py", "a", "A"), Edit("a.py", "b", "B"), Edit("c.py", "c", ""))
    assert unparsed == ()


def test_an_edit_without_original_makes_a_new_file() -> None:
    edits, _ = parse_edits("<file>new.py</file>\n<patched>\nx = 1\n</patched>")
    assert edits == (Edit("new.py", "", "x = 1"),)


def test_inner_blank_lines_indentation_and_entities_are_kept() -> None:
    edits, _ = parse_edits(block("a.py", "\n    a &lt; b\n", "\t<b>&amp;</b>\n\n"))
    assert edits == (Edit("a.py", "\n    a &lt; b\n", "\t<b>&amp;</b>\n\n"),)


def test_code_that_speaks_of_tags_is_kept_whole() -> None:
    original = 'x = "</original>"\ny = "<original>"'
    patched = 'x = "</patched>" + "<file>a</file>"\n<file>x</file>'
    edits, unparsed = parse_edits(block("a.py", original, patched) + block("b.py", "q", "r"))
    assert edits == (Edit("a.py", original, patched), Edit("b.py", "q", "r"))
    assert unparsed == ()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "holds no edit"),
        ("I can't help with that.", "holds no edit"),
        ("<original>x</original><patched>y</patched>", "each edit is written as"),
        ("<file>a.py</file> and so on", "must be followed by"),
        ("<file>a.py</file><original>x = 1", "never closed"),
        ("<file>a.py</file><original>x = 1</original>", "no <patched> follows"),
        ("<file>a.py</file><original>x</original><patched>y", "may have been cut off"),
        (block("b.py", "x", "y") + "<file>a.py</file>\n", "may have been cut off"),
        (block("b.py", "x", "y") + "<file>a.p", "may have been cut off"),
        (
            "<file>a.py</file><original>x</original><patched>y"
            + block("a.py", "z", "w").partition("</file>")[2],
            "<patched> is never closed",
        ),
    ],
)
def test_what_is_incomplete_comes_back_with_a_reason(reply: str, reason: str) -> None:
    _, unparsed = parse_edits(reply)
    assert len(unparsed) == 1
    assert reason in unparsed[0].reason


def test_a_whole_edit_before_a_truncated_one_is_kept() -> None:
    edits, unparsed = parse_edits(block("a.py", "x", "y") + "<file>b.py</file>\n<original>\nlong")
    assert edits == (Edit("a.py", "x", "y"),)
    assert "b.py" in unparsed[0].reason


@pytest.mark.parametrize(
    "reply",
    [
        "<original>" * 200_000,
        "<file>" * 200_000,
        "<file>a</file><original>" * 70_000,
        "<file>a</file><original>x</original><patched>" * 40_000,
        "</patched>" * 200_000,
        "<file>a</file><original>"
        + "\n" * 4_000_000
        + "</original><patched>"
        + " " * 4_000_000
        + "</patched>",
        "<file>" + "x" * 9_000_000,
        "`" * 9_000_000,
        "<file>a</file><original>```"
        + "`" * 4_000_000
        + "\n"
        + "`" * 4_000_000
        + "</original><patched>\0\ud800</patched>",
        "<file>a</file>" + "<original>x</original><patched>" * 30_000 + "</patched>" * 30_000,
    ],
    ids=range(10),
)
def test_a_hostile_reply_is_read_in_time_linear_in_its_length(reply: str) -> None:
    start = time.process_time()
    edits, unparsed = parse_edits(reply)
    apply_edits(edits[:200], {"a": b"x\n"}.get)
    assert time.process_time() - start < 5
    assert all(len(item.text) <= 2000 for item in unparsed)


# --- applying


def test_exactly_matching_lines_are_replaced() -> None:
    assert applied([Edit("a.py", "b = 2", "b = 3\nc = 4")], {"a.py": b"a = 1\nb = 2\n"}) == {
        "a.py": b"a = 1\nb = 3\nc = 4\n"
    }


def test_an_empty_replacement_removes_the_lines() -> None:
    assert applied([Edit("a.py", "b", "")], {"a.py": b"a\nb\nc\n"}) == {"a.py": b"a\nc\n"}
    assert applied([Edit("a.py", "b", "")], {"a.py": b"a\nb"}) == {"a.py": b"a\n"}


def test_whole_lines_are_preferred_to_parts_of_lines() -> None:
    assert applied([Edit("a.py", "x = 1", "x = 2")], {"a.py": b"max = 10\nx = 1\nxx = 1\n"}) == {
        "a.py": b"max = 10\nx = 2\nxx = 1\n"
    }


def test_a_part_of_a_line_is_replaced_where_it_cuts_no_name() -> None:
    files = {"a.py": b"pre.f(x, 1)  # f(x\nff(x, 1)\n"}
    assert applied([Edit("a.py", " f(x, 1) ".strip(), "g(x)")], files) == {
        "a.py": b"pre.g(x)  # f(x\nff(x, 1)\n"
    }


def test_edits_of_one_file_see_the_result_of_those_before() -> None:
    edits = [Edit("a.py", "a", "b"), Edit("a.py", "b\nc", "d"), Edit("n.py", "", "x"), Edit("n.py", "x", "y")]
    assert applied(edits, {"a.py": b"a\nc\n"}) == {"a.py": b"d\n", "n.py": b"y\n"}


@pytest.mark.parametrize(
    ("original", "patched"),
    [
        (
            "for side in self.sides:\n    total += side",
            "for side in self.sides:\n    if side:\n        total += side",
        ),
        (
            "    for side in self.sides:\n        total += side",
            "    for side in self.sides:\n        if side:\n            total += side",
        ),
        (
            "\tfor side in self.sides:\n\t\ttotal += side",
            "\tfor side in self.sides:\n\t\tif side:\n\t\t\ttotal += side",
        ),
        (
            "for side in self.sides:\n  total += side",
            "for side in self.sides:\n  if side:\n    total += side",
        ),
        (
            "for side in self.sides:\n            total += side",
            "for side in self.sides:\n            if side:\n                total += side",
        ),
    ],
    ids=["none", "less", "tabs", "two", "first line only"],
)
@pytest.mark.parametrize("tabs", [False, True])
def test_a_replacement_takes_over_the_indentation_of_the_file(
    original: str, patched: str, tabs: bool
) -> None:
    expected = FUNCTION.replace(
        "            total += side", "            if side:\n                total += side"
    )
    before, after = (text.replace("    ", "\t") if tabs else text for text in (FUNCTION, expected))
    assert applied([Edit("a.py", original, patched)], {"a.py": before.encode()}) == {"a.py": after.encode()}


def test_lines_that_stay_keep_their_own_whitespace() -> None:
    before = b"def f( a ):\n    x = 1   \n\n    return  x\n"
    edit = Edit("a.py", "def f(a):\n    x = 1\n    return x", "def f(a):\n    x = 1\n    return x + 1")
    assert applied([edit], {"a.py": before}) == {"a.py": b"def f( a ):\n    x = 1   \n    return x + 1\n"}
    edit = Edit("a.py", "def f(a):\n    x = 1\n    return x", "def f(a, b):\n    x = 1\n    return x")
    assert applied([edit], {"a.py": before}) == {"a.py": b"def f(a, b):\n    x = 1   \n\n    return  x\n"}


def test_the_closest_unique_lines_are_taken_and_noted() -> None:
    edit = Edit(
        "a.py",
        "        total = 0\n        for side in self.sidez:\n            total += side",
        "        total = 1\n        for side in self.sides:\n            total += side",
    )
    result = apply_edits([edit], {"a.py": FUNCTION.encode()}.get)
    assert isinstance(result, Applied)
    assert result.changes == {"a.py": FUNCTION.replace("total = 0", "total = 1").encode()}
    assert "closest" in result.notes[0]


def test_two_equally_close_places_are_refused() -> None:
    twice = (FUNCTION + FUNCTION.replace("class A", "class B")).encode()
    reason = refused([Edit("a.py", "for side in self.sidez:\n    total += side", "pass")], {"a.py": twice})
    assert "lines 4, 14" in reason


def test_an_ambiguous_block_is_refused_with_the_lines_it_fits() -> None:
    assert "lines 1, 3" in refused([Edit("a.py", "x = 1", "x = 2")], {"a.py": b"x = 1\n\nx = 1\n"})
    assert "lines 1, 2" in refused([Edit("a.py", "x  =  1", "x = 2")], {"a.py": b" x = 1\nx = 1\n"})
    assert "lines 1, 2" in refused([Edit("a.py", "(a)", "(b)")], {"a.py": b"f(a)\ng(a)\n"})


def test_a_block_that_is_not_there_is_refused_with_the_closest_lines() -> None:
    reason = refused([Edit("a.py", "def area(self, unit):\n    return 3", "")], {"a.py": FUNCTION.encode()})
    assert "not found" in reason
    assert "def area(self):" in reason


def test_a_large_difference_is_not_taken_for_the_closest_match() -> None:
    assert "not found" in refused(
        [Edit("a.py", "return None", "return 1")], {"a.py": b"return total_of_all\n"}
    )


def test_the_closest_match_can_be_switched_off() -> None:
    config = EditConfig(match=MatchConfig(closest_ratio=2))
    edit = Edit("a.py", "for side in self.sidez:\n    total += side", "pass")
    assert isinstance(apply_edits([edit], {"a.py": FUNCTION.encode()}.get, config=config), Refused)


def test_all_edits_that_fail_are_named_and_none_is_applied() -> None:
    edits = [Edit("a.py", "x", "y"), Edit("b.py", "q", "r"), Edit("c.py", "q", "r")]
    result = apply_edits(edits, {"a.py": b"x\n", "c.py": b"other\n"}.get)
    assert isinstance(result, Refused)
    assert "b.py: there is no such file" in result.reason
    assert "c.py: " in result.reason
    assert result.edit == edits[1]


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([], "no edit"),
        ([Edit("a.py", "x", "x")], "change nothing"),
        ([Edit("a.py", "", "x")], "not empty"),
        ([Edit("a.py", " \n ", "x")], "not empty"),
        ([Edit("a.py", "x", "\0")], "control character"),
        ([Edit("a.py", "x", "\ud800")], "control character"),
        ([Edit("a.py", "x", "\x1b[0m")], "control character"),
        ([Edit("bin", "x", "y")], "binary"),
        ([Edit("latin.py", "x", "€")], "iso8859-1"),
        ([Edit("new.py", "", "x"), Edit("NEW.py", "", "x")], "differs only by case"),
        ([Edit("new", "", "x"), Edit("new/a.py", "", "x")], "can't both be files"),
        ([Edit("a.py", "x", "y")] * 51, "too many"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edits: list[Edit], reason: str) -> None:
    files = {"a.py": b"x\n", "bin": b"x\n\0", "latin.py": b"# coding: latin-1\nx\n# \xe9\n"}
    assert reason in refused(edits, files)


def test_new_and_empty_files_are_filled() -> None:
    edits = [Edit("new/a.py", "", "x = 1"), Edit("empty.py", "", "y = 1\n"), Edit("new/__init__.py", "", "")]
    assert applied(edits, {"empty.py": b""}) == {
        "new/a.py": b"x = 1\n",
        "empty.py": b"y = 1\n",
        "new/__init__.py": b"",
    }


# --- bytes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", b"a\r\nB\nc\r\n"),
        (b"a\rb\rc", b"a\rB\rc"),
        (b"a\nb", b"a\nB"),
        (b"b", b"B"),
        (b"\xef\xbb\xbfb\r\n", b"\xef\xbb\xbfB\r\n"),
        (b"\xe9\x80\nb\n\xff\n", b"\xe9\x80\nB\n\xff\n"),
        (b"# -*- coding: cp1252 -*-\n\x80\nb\n", b"# -*- coding: cp1252 -*-\n\x80\nB\n"),
        (b"# coding: nonsense\nb\n\xe9", b"# coding: nonsense\nB\n\xe9"),
        (b"# coding: rot13\nb\n\xe9", b"# coding: rot13\nB\n\xe9"),
        (b"a\x0cx\x1cy\n\xc2\x85\xe2\x80\xa8\nb\n", b"a\x0cx\x1cy\n\xc2\x85\xe2\x80\xa8\nB\n"),
        ("é\nb\n".encode("utf-16"), None),
    ],
)
def test_everything_but_the_edited_line_survives_byte_for_byte(before: bytes, after: bytes | None) -> None:
    result = apply_edits([Edit("a.py", "b", "B")], {"a.py": before}.get)
    if after is None:
        assert isinstance(result, Refused)
    else:
        assert isinstance(result, Applied)
        assert result.changes == {"a.py": after}


def test_a_final_newline_is_neither_added_nor_lost() -> None:
    assert applied([Edit("a.py", "b", "b\nc")], {"a.py": b"a\nb"}) == {"a.py": b"a\nb\nc"}
    assert applied([Edit("a.py", "a\nb", "b\na")], {"a.py": b"a\nb"}) == {"a.py": b"b\na"}


def test_a_replacement_is_written_in_the_encoding_of_the_file() -> None:
    assert applied([Edit("a.py", "x = 'é'", "x = 'ü'")], {"a.py": b"# coding: latin-1\nx = '\xe9'\n"}) == {
        "a.py": b"# coding: latin-1\nx = '\xfc'\n"
    }


CODE = st.lists(
    st.sampled_from(["", "if x:", "    a = 1", "\ta = 1", "a=1", "  b()", "b( )", "\x0c", "é"]), max_size=6
)


@settings(derandomize=True)
@given(lines=CODE, original=CODE, patched=CODE, end=st.sampled_from(["\n", "\r\n", "\r"]), last=st.booleans())
def test_an_edit_of_any_shape_is_applied_or_refused_and_keeps_line_ends(
    lines: list[str], original: list[str], patched: list[str], end: str, last: bool
) -> None:
    content = end.join(lines) + end * last
    edit = Edit("a.py", "\n".join(original), "\n".join(patched))
    result = apply_edits([edit], {"a.py": content.encode()}.get)
    if isinstance(result, Refused):
        assert result.reason
    elif any(line.strip() for line in original):
        changed = (result.changes["a.py"] or b"").decode()
        other_ends = {"\n", "\r\n", "\r"} - {end} if end in content else set()
        assert not {line[len(line.rstrip("\r\n")) :] for line in lines_of(changed)} & other_ends
        assert changed.endswith(end) or not (changed and content.endswith(end))


# --- paths


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x.py",
        "a/../../x.py",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.Git",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".g\u200cit/config",
        ".git::$INDEX_ALLOCATION/config",
        "a\0b",
        "a\nb.py",
        "a\x1b[0m.py",
        "a\u202eb.py",
        "C:/x.py",
        "new\\x.py",
        "a//b.py",
        "a/./b.py",
        "a/",
        ".",
        "x" * 2000,
    ],
)
def test_a_path_that_no_edit_may_touch_is_refused(path: str) -> None:
    assert "path" in refused([Edit(path, "", "x")], {})


@pytest.mark.parametrize(
    "path",
    ["src/m.py", "./src/m.py", "a/src/m.py", "b/src/m.py", " `src/m.py` ", "/mnt/r/src/m.py", "src\\m.py"],
)
def test_the_ways_to_write_a_path_that_exists_are_understood(path: str) -> None:
    result = apply_edits([Edit(path, "x", "y")], {"src/m.py": b"x\n"}.get, mount="/mnt/r/")
    assert isinstance(result, Applied)
    assert result.changes == {"src/m.py": b"y\n"}


def test_prefixes_of_diffs_are_kept_where_nothing_else_exists() -> None:
    assert applied([Edit("a/new.py", "", "x")], {}) == {"a/new.py": b"x\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    files = {"pkg/Mod.py": "100644", "sub": "160000", "link": "120000", "docs/a.md": "100644"}
    for path in ("pkg/Mod.py", "docs/a.md"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("x\n")
    (tmp_path / "link").symlink_to("/etc")
    return Tree(tmp_path, files)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("link", "symbolic link"),
        ("link/passwd", "symbolic link"),
        ("sub", "submodule"),
        ("sub/x.py", "submodule"),
        ("pkg", "is a folder"),
        ("pkg/Mod.py/x", "a file"),
        ("pkg/mod.py", "differs only by case from 'pkg/Mod.py'"),
        ("PKG/new.py", "differs only by case from 'pkg'"),
    ],
)
def test_what_a_tree_has_in_the_way_is_refused(tree: Tree, path: str, reason: str) -> None:
    result = apply_edits([Edit(path, "", "x")], tree)
    assert isinstance(result, Refused)
    assert reason in result.reason


def test_a_missing_file_is_refused_with_those_that_may_be_meant(tree: Tree) -> None:
    result = apply_edits([Edit("Mod.py", "x", "y"), Edit("other/Mod.py", "x", "y")], tree)
    assert isinstance(result, Refused)
    assert result.reason.count("did you mean pkg/Mod.py?") == 2


def test_sensitive_paths_are_flagged_with_the_reason() -> None:
    paths = (
        ".github/workflows/ci.yml .gitattributes pkg/conftest.py tests/test_a.py tests/test_new.py setup.py"
    )
    changes = dict.fromkeys((*paths.split(), "pyproject.toml", "pkg/a.py", "pkg/attest.py"), b"")
    flags = sensitive({**changes, "pkg/gone.py": None}, {"tests/test_a.py": b"x"}.get)
    assert flags == (
        "changes how git treats files: .gitattributes",
        "changes how CI runs: .github/workflows/ci.yml",
        "changes how tests are collected: pkg/conftest.py",
        "removes a file: pkg/gone.py",
        "changes how the project is built: pyproject.toml",
        "changes how the project is built: setup.py",
        "changes a test: tests/test_a.py",
    )

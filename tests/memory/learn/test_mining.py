"""Past commits as demonstrations, out of real repositories of every shape."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest

from experepair.domain.memory import Demonstration, Origin
from experepair.domain.roles import Agent
from experepair.errors import UsageError
from experepair.memory.learn.history import mine
from experepair.memory.learn.worth import Mined, MiningConfig
from experepair.memory.lesson import Lesson, Source
from experepair.workspace.repository import Repository
from repositories import git, make_repository

CODE = "class Box:\n    def area(self):\n        return 0\n\n    def name(self):\n        return 'box'\n"
TEST = "def test_area():\n    assert True\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "r", {"pkg/box.py": CODE, "tests/test_box.py": TEST, "README": "x\n"})


def change(root: Path, message: str, *args: str, **files: str) -> str:
    """Commit new content of files; names have __ for / and . at the end gets py."""
    for name, content in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", f"--message={message}", *args)
    return git(root, "rev-parse", "HEAD")


def mined(root: Path, **how: object) -> list[Lesson]:
    repository = Repository.open(root)
    return list(mine(repository, repository.scope, **how))  # type: ignore[arg-type]


def only(root: Path) -> Demonstration:
    (lesson,) = mined(root)
    (demonstration,) = lesson.demonstrations
    return demonstration


def subjects(lessons: list[Lesson]) -> list[str]:
    return [lesson.issue.title for lesson in lessons]


def fixed(value: int) -> str:
    return CODE.replace("return 0", f"return {value}")


def test_a_fix_teaches_its_message_source_tests_and_what_it_touches(root: Path) -> None:
    message = "Fix the area\n\nIt was 0.\n\nSigned-off-by: A <a@example.org>"
    tests = TEST.replace("True", "Box().area()")
    commit = change(root, message, pkg__box=fixed(1), tests__test_box=tests)
    (lesson,) = mined(root)
    (one,) = lesson.demonstrations
    assert (lesson.key, lesson.source, lesson.commit) == (f"commit:{commit}", Source.HISTORY, commit)
    assert (one.agent, one.origin, one.issue_id, one.commit) == (Agent.PATCH, Origin.MINED, commit, commit)
    assert one.issue == lesson.issue.text == "Fix the area\n\nIt was 0.\n"
    assert one.created_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (one.paths, one.functions) == (("pkg/box.py",), ("area",))
    assert "+        return 1" in one.source
    assert "test_area" not in one.source
    assert "+    assert Box().area()" in one.tests


def test_the_whole_success_still_is_a_patch(root: Path) -> None:
    change(root, "Fix", pkg__box=fixed(1), tests__test_box=TEST + "\n\ndef test_more():\n    pass\n")
    success = only(root).success
    git(root, "checkout", "--quiet", "HEAD~1")
    git(root, "apply", "-", stdin=success.encode())
    assert "return 1" in (root / "pkg/box.py").read_text()
    assert "test_more" in (root / "tests/test_box.py").read_text()


def test_what_teaches_nothing_is_left_out(root: Path) -> None:
    change(root, "Only tests", tests__test_box=TEST + "\n")
    (root / "README").write_text("y\n")
    change(root, "Only words")
    change(root, "Release 1.2.0", pkg__version="V = '1.2.0'\n")
    change(root, "Bump version to 1.3", pkg__version="V = '1.3'\n")
    change(root, "Six files", **{f"pkg__f{n}": "x = 1\n" for n in range(6)})
    change(root, "Huge", pkg__huge="x = 1\n" * 2000)
    change(root, "Update", "--author=dependabot[bot] <support@github.com>", pkg__version="V = '2'\n")
    change(root, "Regrettable", pkg__box=fixed(7))
    git(root, "revert", "--no-edit", "HEAD")
    change(root, "Fix the area", pkg__box=fixed(1))
    assert subjects(mined(root)) == ["Fix the area"]


def test_only_fixes_with_tests_are_mined_when_that_is_asked_for(root: Path) -> None:
    change(root, "Fix without a test", pkg__box=fixed(1))
    change(root, "Fix with a test", pkg__box=fixed(2), tests__test_box=TEST + "\n")
    change(root, "Add a shape", pkg__box=fixed(3), tests__test_box=TEST)
    assert subjects(mined(root, config=MiningConfig(mined=Mined.FIXES))) == ["Fix with a test"]
    assert len(mined(root)) == 3


def test_a_merge_stands_for_its_commits_when_fix_and_test_are_apart(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "side")
    change(root, "Area is right now", pkg__box=fixed(1))
    change(root, "Test it", tests__test_box=TEST + "# more\n")
    git(root, "checkout", "--quiet", "main")
    change(root, "On main", pkg__other="x = 1\n")
    git(
        root,
        "merge",
        "--quiet",
        "--no-ff",
        "--message=Merge pull request #7 from a/side\n\nBoxes have areas",
        "side",
    )
    merge = git(root, "rev-parse", "HEAD")
    lessons = mined(root)
    assert subjects(lessons) == ["Boxes have areas", "On main"]
    one = lessons[0].demonstrations[0]
    assert one.commit == merge
    assert "Area is right now" in one.issue
    assert "# more" in one.tests
    assert subjects(mined(root, config=MiningConfig(merges=False))) == ["On main", "Area is right now"]


def test_a_merge_adds_nothing_when_its_commits_are_whole(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "side")
    change(root, "Whole fix", pkg__box=fixed(1), tests__test_box=TEST + "# more\n")
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "--no-ff", "--message=Merge branch 'side'", "side")
    assert subjects(mined(root)) == ["Whole fix"]


def test_an_octopus_merge_teaches_what_its_commits_do(root: Path) -> None:
    for name in ("a", "b", "c"):
        git(root, "checkout", "--quiet", "-b", name, "main")
        change(root, f"Add {name}", **{f"pkg__{name}": "x = 1\n", f"tests__test_{name}": "x = 1\n"})
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "--no-ff", "--message=All", "a", "b", "c")
    assert sorted(subjects(mined(root))) == ["Add a", "Add b", "Add c"]


def test_a_renamed_file_is_told_by_its_new_name_and_only_by_what_changed(root: Path) -> None:
    git(root, "mv", "pkg/box.py", "pkg/crate.py")
    change(root, "Crates have areas", pkg__crate=fixed(1))
    one = only(root)
    assert one.paths == ("pkg/crate.py",)
    assert one.source.count("\n+") - one.source.count("\n+++") == 1


def test_a_pure_renaming_teaches_nothing(root: Path) -> None:
    git(root, "mv", "pkg/box.py", "pkg/crate.py")
    git(root, "commit", "--quiet", "--message=Rename")
    assert not mined(root)


def test_sources_and_messages_in_old_encodings_are_read(root: Path) -> None:
    (root / "pkg/box.py").write_bytes(CODE.replace("box'", "schön'").encode("latin-1"))
    git(root, "add", "--all")
    git(
        root,
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "--quiet",
        "--file=-",
        stdin="Schöner".encode("latin-1"),
    )
    one = only(root)
    assert one.issue == "Schöner\n"
    assert "schön" in one.success
    one.success.encode("utf-8")


def test_the_definitions_are_those_around_the_changed_lines(root: Path) -> None:
    changed = CODE.replace("'box'", "'Box'") + "\n\ndef new():\n    return 1\n\n\nLIMIT = 3\n"
    change(root, "More", pkg__box=changed)
    assert only(root).functions == ("name", "new")


def test_commits_that_are_known_are_not_read_again(root: Path) -> None:
    change(root, "One", pkg__box=fixed(1))
    asked: list[Collection[str]] = []

    def known(keys: Collection[str]) -> Collection[str]:
        asked.append(keys)
        return first

    first: set[str] = set()
    first = {lesson.key for lesson in mined(root, known=known)}
    assert not mined(root, known=known)
    change(root, "Two", pkg__box=fixed(2))
    assert subjects(mined(root, known=known)) == ["Two"]
    assert [len(keys) for keys in asked] == [1, 1, 2]


def test_the_newest_come_first_and_a_limit_keeps_them(root: Path) -> None:
    for value in (1, 2, 3):
        change(root, f"To {value}", pkg__box=fixed(value))
    assert subjects(mined(root)) == ["To 3", "To 2", "To 1"]
    assert subjects(mined(root, limit=2)) == ["To 3", "To 2"]
    assert not mined(root, limit=2, known=lambda keys: keys)


def test_nothing_from_before_a_day_or_after_a_commit_is_mined(root: Path) -> None:
    first = change(root, "To 1", pkg__box=fixed(1))
    change(root, "To 2", pkg__box=fixed(2))
    assert subjects(mined(root, commit=first)) == ["To 1"]
    assert len(mined(root, since=datetime(2024, 1, 2, tzinfo=UTC))) == 2
    assert not mined(root, since=datetime(2024, 1, 3, tzinfo=UTC))


def test_the_end_of_a_shallow_clone_is_no_fix(root: Path, tmp_path: Path) -> None:
    change(root, "To 1", pkg__box=fixed(1))
    change(root, "To 2", pkg__box=fixed(2))
    git(tmp_path, "clone", "--quiet", "--depth=2", root.as_uri(), "shallow")
    assert subjects(mined(tmp_path / "shallow")) == ["To 2"]


def test_a_partial_clone_says_what_to_do(root: Path, tmp_path: Path) -> None:
    change(root, "To 1", pkg__box=fixed(1))
    change(root, "To 2", pkg__box=fixed(2))
    git(root, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", root.as_uri(), "partial")
    with pytest.raises(UsageError, match=r"partial clone.*--refetch"):
        mined(tmp_path / "partial")


def test_a_bare_repository_and_one_without_a_fix_can_be_mined(root: Path, tmp_path: Path) -> None:
    assert mined(root) == []
    change(root, "To 1", pkg__box=fixed(1))
    git(tmp_path, "clone", "--quiet", "--bare", str(root), "bare.git")
    assert subjects(mined(tmp_path / "bare.git")) == ["To 1"]


def test_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "e")
    with pytest.raises(UsageError, match="no commit yet"):
        mined(tmp_path / "e")


def test_secrets_and_folders_in_a_history_are_masked(root: Path) -> None:
    key = "sk-ant-" + "api03-Zx9Qw8Er7Ty6Ui5Op4As3Df2"
    change(root, "Use a key from /home/alice/keys", pkg__box=CODE + f"KEY = '{key}'\n")
    one = only(root)
    assert key not in one.success
    assert "alice" not in one.issue


def test_settings_of_the_repository_do_not_change_what_is_mined(root: Path) -> None:
    change(root, "To 1", pkg__box=fixed(1))
    plain = mined(root, at=datetime(2026, 1, 1, tzinfo=UTC))
    (root / ".git/info/attributes").write_text("*.py -diff\n")
    for key, value in {
        "diff.noprefix": "true",
        "diff.context": "0",
        "log.date": "raw",
        "diff.external": "false",
    }.items():
        git(root, "config", key, value)
    (root / ".git/info/attributes").write_text("")
    assert mined(root, at=datetime(2026, 1, 1, tzinfo=UTC)) == plain


def test_progress_is_told_to_the_end(root: Path) -> None:
    change(root, "To 1", pkg__box=fixed(1))
    told: list[tuple[str, int, int]] = []
    mined(root, observer=lambda stage, done, total: told.append((stage, done, total)))
    assert ("names", 1, 1) in told
    assert told[-1] == ("diffs", 1, 1)

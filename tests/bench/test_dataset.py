from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toy
from experepair.bench.dataset import Dataset, Selection, in_time_order, load
from experepair.bench.instance import Answer, Instance, Refusal
from experepair.bench.rows import language_refusal, split_row
from experepair.errors import UsageError
from toy_bench import FAILING, PASSING, row, write_rows

COMMIT = "0" * 40


def write_parquet(path: Path, *rows: dict[str, Any]) -> Path:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def as_json(folder: Path) -> Path:
    path = folder / "rows.json"
    path.write_text(json.dumps([row(COMMIT)]))
    return path


def as_object(folder: Path) -> Path:
    path = folder / "rows.json"
    path.write_text(json.dumps({"toys__toy-1": row(COMMIT)}))
    return path


def as_parquet(folder: Path) -> Path:
    lists = {"FAIL_TO_PASS": [FAILING], "PASS_TO_PASS": list(PASSING)}
    moment = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    return write_parquet(folder / "rows.parquet", row(COMMIT, created_at=moment, **lists))


def as_folder(folder: Path) -> Path:
    write_parquet(folder / "hub" / "data" / "test-00000-of-00001.parquet", row(COMMIT))
    write_parquet(folder / "hub" / "data" / "dev-00000-of-00001.parquet", row(COMMIT, instance_id="other"))
    return folder / "hub"


@pytest.mark.parametrize("write", [as_json, as_object, as_parquet, as_folder])
def test_every_format_gives_what_json_lines_give(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    lines = load(str(write_rows(tmp_path / "rows.jsonl", row(COMMIT))))
    other = load(str(write(tmp_path)))
    assert other.instances == lines.instances
    [one], [other_one] = lines.answers.values(), other.answers.values()
    assert (one.patch, one.fail_to_pass, one.pass_to_pass, one.hints) == (
        other_one.patch, other_one.fail_to_pass, other_one.pass_to_pass, other_one.hints,
    )  # fmt: skip
    assert one.fail_to_pass == (FAILING,)


def test_an_instance_has_no_place_for_anything_sealed() -> None:
    parted = split_row(row(COMMIT), "row 1")
    assert isinstance(parted, tuple)
    instance, answer = parted
    seen = repr(dataclasses.astuple(instance)) + repr(instance) + repr(answer) + f"{answer}"
    for sealed in ("patch", "test_patch", "hints_text", "FAIL_TO_PASS", "PASS_TO_PASS"):
        assert str(row(COMMIT)[sealed])[10:40] not in seen, sealed
    shared = {field.name for field in dataclasses.fields(Instance)} & {
        field.name for field in dataclasses.fields(Answer)
    }
    assert not shared


def test_the_issue_of_an_instance_has_its_scope_and_its_time() -> None:
    parted = split_row(row(COMMIT, repo="Toys/Toy"), "row 1")
    assert isinstance(parted, tuple)
    issue = parted[0].issue()
    assert (issue.id, issue.repository, issue.text) == ("toys__toy-1", "github.com/toys/toy", toy.ISSUE)
    assert issue.created_at == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_rows_of_a_backlog_need_repository_commit_and_statement_only(tmp_path: Path) -> None:
    rows = [
        {"repository": "team/service", "commit": "abc1234", "statement": text}
        for text in ("Broken.", "Slow.")
    ]
    first, again = (load(str(write_rows(tmp_path / name, *rows))) for name in ("a.jsonl", "b.jsonl"))
    assert [one.problem_statement for one in first.instances] == ["Broken.", "Slow."]
    assert [one.id for one in first.instances] == [one.id for one in again.instances]
    assert len({one.id for one in first.instances}) == 2
    assert first.instances[0].scope == "github.com/team/service"
    assert first.answers[first.instances[0].id].fail_to_pass == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"language": "Java"}, "its language is Java"),
        ({"repo_language": "go"}, "its language is go"),
        ({"base_commit": ""}, "base_commit missing"),
        ({"problem_statement": None, "repo": None}, "repo and problem_statement missing"),
        ({"instance_id": "../../etc"}, "name of a folder"),
        ({"base_commit": "--upload-pack=x"}, "can't be a commit"),
        ({"base_commit": "a..b"}, "can't be a commit"),
        ({"created_at": "yesterday"}, "is no date"),
        ({"FAIL_TO_PASS": "[half"}, "FAIL_TO_PASS is not a list"),
        ({"PASS_TO_PASS": {"a": 1}}, "PASS_TO_PASS is not a list"),
    ],
)
def test_a_row_that_cannot_be_taken_is_refused_with_the_reason(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", row(COMMIT, instance_id="good"), row(COMMIT, **change))
    dataset = load(str(rows))
    assert [one.id for one in dataset.instances] == ["good"]
    [refusal] = dataset.refused
    assert reason in refusal.reason


def test_a_repository_without_python_is_refused_when_its_files_are_known() -> None:
    instance = Instance("a", "b/c", COMMIT, "text")
    assert language_refusal(instance, ("src/Main.java", "README.md")) is not None
    assert language_refusal(instance, ("src/Main.java", "tools/x.py")) is None


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "instance_id",
                "repo",
                "base_commit",
                "problem_statement",
                "created_at",
                "FAIL_TO_PASS",
                "language",
            ]
        ),
        st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=3), max_size=2),
    )
)
def test_whatever_a_row_holds_it_is_taken_or_refused(hostile: dict[str, Any]) -> None:
    parted = split_row(hostile, "row 1")
    if isinstance(parted, Refusal):
        assert parted.reason
    else:
        assert parted[0].id == parted[1].instance_id
        assert "/" not in parted[0].id
        assert not parted[0].base_commit.startswith("-")


def three(tmp_path: Path) -> str:
    rows = [
        row(COMMIT, instance_id=f"toys__toy-{number}", split=split, created_at=f"202{9 - number}-01-01")
        for number, split in ((1, "dev"), (2, "test"), (3, "test"))
    ]
    return str(write_rows(tmp_path / "rows.jsonl", *rows))


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [1, 2, 3]),
        (Selection(limit=2), [1, 2]),
        (Selection(matching=r"-[13]$"), [1, 3]),
        (Selection(instances=("toys__toy-2",)), [2]),
        (Selection(split="test"), [2, 3]),
        (Selection(split="test", limit=1, matching="3"), [3]),
    ],
)
def test_a_selection_takes_what_it_says(tmp_path: Path, selection: Selection, expected: list[int]) -> None:
    dataset = load(three(tmp_path), selection)
    assert [one.id for one in dataset.instances] == [f"toys__toy-{number}" for number in expected]
    assert set(dataset.answers) == {one.id for one in dataset.instances}


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(instances=("absent",)), "no instance 'absent'"),
        (Selection(matching="["), "no regular expression"),
        (Selection(matching="nothing"), "no instance of the dataset"),
    ],
)
def test_a_selection_that_leaves_nothing_is_an_error(
    tmp_path: Path, selection: Selection, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(three(tmp_path), selection)


def test_time_order_is_by_when_the_issue_was_written_and_unknown_times_come_last(tmp_path: Path) -> None:
    dataset = load(three(tmp_path))
    unknown = Instance("never", "b/c", COMMIT, "text")
    ordered = in_time_order((unknown, *dataset.instances))
    assert [one.id for one in ordered] == ["toys__toy-3", "toys__toy-2", "toys__toy-1", "never"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "line 2 .* is not JSON"),
        ("a.jsonl", b"[1]\n", "not an object"),
        ("a.json", b'"text"', "neither a list"),
        ("a.json", b"\xff\xfe", "UTF-8"),
        ("a.parquet", b"PAR1", "not a Parquet file"),
        ("a.csv", b"a,b", "none of .jsonl"),
    ],
)
def test_a_file_that_is_no_dataset_is_an_error_that_names_it(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load(str(tmp_path / name))


def test_what_cannot_be_a_dataset_is_an_error(tmp_path: Path) -> None:
    for spec, message in (("litee", "there is no dataset"), ("absent.jsonl", "can't read the dataset")):
        with pytest.raises(UsageError, match=message):
            load(spec)
    with pytest.raises(UsageError, match=r"no split 'test' in .*: there are no Parquet files"):
        load(str(tmp_path))


def test_an_instance_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        load(str(write_rows(tmp_path / "rows.jsonl", row(COMMIT), row(COMMIT))))


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download of one Parquet file asks for."""

    file = Path()

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(None)

    def _answer(self, body: bytes | None) -> None:
        name = "data/test-00000-of-00001.parquet"
        content = self.file.read_bytes()
        if "/api/datasets/" in self.path:
            facts = {"id": "SWE-bench/SWE-bench_Lite", "sha": "a" * 40, "siblings": [{"rfilename": name}]}
            tree = [{"type": "file", "path": name, "size": len(content), "oid": "b" * 40}]
            content = json.dumps(tree if "/tree/" in self.path else facts).encode()
        self.send_response(200 if "/api/" in self.path or self.path.endswith(name) else 404)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("ETag", '"e1"')
        self.end_headers()
        self.wfile.write(content if body is None else body)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def hub(file: Path) -> Iterator[str]:
    _Hub.file = file
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def loaded_from(url: str, home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since the library reads the address of the hub when it is imported."""
    code = "from experepair.bench.dataset import load; print(load('lite').instances[0].id)"
    env = {
        "HF_ENDPOINT": url,
        "HF_HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(sys.path),
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100, check=False
    )


def test_an_alias_is_read_from_the_hub(tmp_path: Path) -> None:
    with hub(write_parquet(tmp_path / "rows.parquet", row(COMMIT))) as url:
        done = loaded_from(url, tmp_path / "home")
    assert done.stdout == "toys__toy-1\n", done.stderr


def test_a_hub_that_cannot_be_reached_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    done = loaded_from("http://127.0.0.1:9", tmp_path / "home")
    assert "UsageError: the dataset 'SWE-bench/SWE-bench_Lite' can't be had from the hub" in done.stderr
    assert "give a local" in done.stderr


def test_a_dataset_names_itself(tmp_path: Path) -> None:
    dataset: Dataset = load(three(tmp_path))
    assert dataset.name.endswith("rows.jsonl")

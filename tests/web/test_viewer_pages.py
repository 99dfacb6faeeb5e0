from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.errors import OutputError
from experepair.memory.store import Store
from experepair.web.app import STATIC, manifest
from experepair.web.diffs import side_by_side
from experepair.web.export import file_of, write_copy
from experepair.web.highlight import pieces
from experepair.web.shelf import Shelf
from lessons import SCOPE, run_lesson
from web_runs import DIFF, HOSTILE, call, campaign_folder, write_run
from web_served import TOKEN, Client, memory_of, served


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    write_run(tmp_path / "runs" / "good").close()
    write_run(tmp_path / "runs" / "hostile", text=HOSTILE, run_id="run-2").close()
    return Shelf((tmp_path / "runs",), lambda: memory_of(tmp_path / "memory.db"))


@pytest.fixture
def client(shelf: Shelf) -> Iterator[Client]:
    with served(shelf) as found:
        yield found


def test_every_page_of_a_run_answers_and_names_what_it_shows(client: Client) -> None:
    expected = {
        "": "P1.1 keeps whole numbers whole.",
        "/timeline": "sample 2",
        "/candidates": "P1.2",
        "/memory": "0.82",
        "/issue": "It raises.",
        "/calls/patch-0": "You repair code.",
        "/executions/5": "script S1",
        "/candidates/P1.1": "chosen",
        "/remembered?id=example.org/shop/17/tuple": "Average of an empty basket",
    }
    for path, text in expected.items():
        status, body, _ = client.ask(f"/runs/good{path}")
        assert (status, text in body) == (200, True), path
    assert client.ask("/runs/good/patch.diff")[1] == DIFF


@pytest.mark.parametrize(
    "path",
    [
        "/runs/none",
        "/runs/good/calls/none",
        "/runs/good/executions/abc",
        "/memory/demonstration?id=x",
        "/campaigns/x",
        "/compare",
        "/nowhere",
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(client: Client, path: str) -> None:
    status, body, _ = client.ask(path)
    assert status == 404
    assert "t be shown</h1>" in body


def test_a_hostile_issue_appears_as_text(client: Client) -> None:
    for path in ("", "/issue", "/timeline"):
        body = client.ask(f"/runs/hostile{path}")[1]
        assert "<script>window" not in body
        assert "<svg onload" not in body
        assert "<img src=x" not in body
    shown = client.ask("/runs/hostile/issue")[1]
    assert "&lt;script&gt;window.hacked" in shown
    assert r"\u202eevil" in shown
    assert r"\x1b[31m \ud800" in shown


def test_without_the_token_nothing_is_shown(client: Client) -> None:
    assert client.ask("/", cookie="")[0] == 403
    assert client.ask("/static/style.css", cookie="")[0] == 403
    assert client.ask("/?token=wrong", cookie="")[0] == 403


def test_the_token_of_the_address_becomes_a_strict_cookie_and_leaves_the_address(client: Client) -> None:
    status, _, headers = client.ask(f"/runs/good?token={TOKEN}&seen=1", cookie="")
    assert (status, headers["location"]) == (303, "/runs/good?seen=1")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]


def test_another_name_of_this_machine_is_refused(client: Client) -> None:
    assert client.ask("/", host=f"evil.example:{client.port}")[0] == 421


def test_nothing_foreign_and_nothing_inline_may_run(client: Client) -> None:
    status, body, headers = client.ask("/runs/good")
    policy = headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]* src=)|<[^>]* (on\w+|style)=|(src|href)=\"(https?:)?//", body)
    assert status == 200


def test_a_live_page_is_told_what_is_new_and_nothing_else(client: Client, tmp_path: Path) -> None:
    assert "hx-trigger" not in client.ask("/runs/good")[1]  # nobody writes its journal
    with write_run(tmp_path / "runs" / "live", ended=False) as journal:
        found = re.search(r'hx-get="([^"]+)"', client.ask("/runs/live")[1])
        assert found
        assert client.ask(found[1])[0] == 204
        call(journal, "patch", 0, "news")
        assert client.ask(found[1])[0] == 200


def changed(client: Client, act: str, name: str, **headers: str) -> int:
    page = client.ask("/memory/quarantine")[1]
    found = re.search(r'name="change_token" value="(\w+)"', page)
    token = headers.pop("token", found[1] if found else "")
    body = f"change_token={token}&scope={SCOPE}&name={name}&back=/memory/quarantine"
    own = {"origin": f"http://{client.host}", "content-type": "application/x-www-form-urlencoded", **headers}
    return client.ask(f"/memory/{act}", "POST", body, **own)[0]


def test_what_waits_is_accepted_by_its_own_page_alone(client: Client, tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store:
        store.learn(run_lesson("a", trusted=False))
        assert changed(client, "accept", "run:a", origin="http://evil.example") == 403
        assert changed(client, "accept", "run:a", origin="") == 403
        assert changed(client, "accept", "run:a", token="wrong") == 403
        assert str(store.lessons()[0].state) == "quarantined"
        assert changed(client, "accept", "run:a") == 303
        assert str(store.lessons()[0].state) == "accepted"


def test_a_read_only_view_changes_nothing(shelf: Shelf, tmp_path: Path) -> None:
    shelf.read_only = True
    with Store.open(str(tmp_path / "memory.db")) as store, served(shelf) as client:
        store.learn(run_lesson("a", trusted=False))
        assert '<form method="post"' not in client.ask("/memory/quarantine")[1]
        assert changed(client, "forget", "run:a") == 403
        assert str(store.lessons()[0].state) == "quarantined"


def test_the_memory_is_filtered_and_paged(client: Client, tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "memory.db")) as store:
        store.learn_many(
            run_lesson(f"r{number}", outcome="unresolved" if number == 3 else "repaired")
            for number in range(12)
        )
    assert "36 demonstrations" in client.ask("/memory")[1]
    assert "Page 2 of 2" in client.ask("/memory?page_number=2")[1]
    assert "24 demonstrations" in client.ask("/memory?agent=patch")[1]
    assert "3 demonstrations" in client.ask("/memory?outcome=unresolved")[1]
    assert "3 demonstrations" in client.ask("/memory?text=text+of+R7")[1]
    shown = client.ask(f"/memory/demonstration?id={SCOPE}/r7/tuple")[1]
    assert "feedback on r7" in shown
    assert "demonstration" in client.ask(f"/memory/history?scope={SCOPE}&name={SCOPE}/r7/tuple")[1]
    for part in ("insights", "quarantine", "log", "growth", "growth.json"):
        assert client.ask(f"/memory/{part}")[0] == 200


def test_a_campaign_is_compared_issue_by_issue(tmp_path: Path) -> None:
    campaign_folder(tmp_path / "camp", 7)
    with served(Shelf((tmp_path / "camp",), lambda: memory_of(tmp_path / "m.db"))) as client:
        page = client.ask("/campaigns/camp")[1]
        assert "66.7" in page  # 4 of 6
        assert page.count("waiting") >= 2
        every = client.ask("/compare?a=camp+/+full&b=camp+/+no-memory")[1]
        assert every.count("demo__demo-") >= 7
        few = client.ask("/compare?a=camp+/+full&b=camp+/+no-memory&only=disagreements")[1]
        assert set(re.findall(r">(demo__demo-\d)<", few)) == {f"demo__demo-{number}" for number in (3, 4, 5)}
        assert "<td>generation</td>" in few
        assert (
            "valid" in client.ask("/compare/issue?a=camp+/+full&b=camp+/+no-memory&instance=demo__demo-3")[1]
        )
        assert client.ask("/campaigns/camp/tables")[0] == 200
        assert client.ask("/campaigns/camp/charts.json")[0] == 200


def test_a_static_copy_has_no_link_that_leads_nowhere(shelf: Shelf, tmp_path: Path) -> None:
    campaign_folder(tmp_path / "runs" / "camp", 3)
    pages = write_copy(shelf, tmp_path / "copy")
    files = list((tmp_path / "copy").rglob("*.html"))
    assert len(files) <= pages
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "t be shown</h1>" not in text, file
        for target in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert not urlsplit(target).scheme
            assert (file.parent / target).is_file(), (file, target)
    with pytest.raises(OutputError, match="isn't empty"):
        write_copy(shelf, tmp_path / "copy")


@given(st.text())
def test_no_address_leaves_the_folder_of_a_copy(path: str) -> None:
    assert ".." not in Path(file_of("/" + path)).parts
    assert not Path(file_of("/" + path)).is_absolute()


def test_vendored_assets_are_what_their_manifest_says() -> None:
    vendor = STATIC / "vendor"
    named = {"manifest.json"}
    for one in manifest():
        assert hashlib.sha256((vendor / one["file"]).read_bytes()).hexdigest() == one["sha256"], one["file"]
        assert (
            hashlib.sha256((vendor / one["license_file"]).read_bytes()).hexdigest() == one["license_sha256"]
        )
        assert (
            one["version"].encode() in (vendor / one["file"]).read_bytes() or one["name"] == "Observable Plot"
        )
        named |= {one["file"], one["license_file"]}
    assert {file.name for file in vendor.iterdir()} == named


@given(st.text(alphabet=st.sampled_from("ab'\"#\n\t(){}=\\ü")))
def test_highlighting_keeps_every_character(text: str) -> None:
    assert "\n".join("".join(piece for _, piece in line) for line in pieces(text, "a.py")) == text


def test_a_diff_stands_side_by_side_with_its_line_numbers() -> None:
    (file,) = side_by_side(DIFF)
    assert (file.path, file.added, file.removed) == ("shop/cart.py", 3, 1)
    kinds = [row.kind for row in file.hunks[0].rows]
    assert kinds == ["same", "same", "changed", "added", "added", "same"]
    last = file.hunks[0].rows[-1]
    assert last.old is not None
    assert last.new is not None
    assert (last.old.number, last.new.number) == (4, 6)

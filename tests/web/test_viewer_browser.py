"""The viewer in a real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, sync_playwright

from experepair.memory.store import Store
from experepair.web.export import write_copy
from experepair.web.shelf import Shelf
from lessons import SCOPE, run_lesson
from web_runs import HOSTILE, INSIGHT, campaign_folder, finish, write_run
from web_served import TOKEN, Client, memory_of, served

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=root)
        yield opened
        opened.close()


@contextmanager
def reading(browser: Browser, width: int = 1200, scheme: str = "light") -> Iterator[Page]:
    """A page that must not complain."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    complaints: list[str] = []
    page.on(
        "console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(20_000)
    yield page
    assert complaints == []
    context.close()


def start(page: Page, client: Client, path: str = "/") -> None:
    page.goto(f"http://{client.host}/?all=1&token={TOKEN}")
    page.goto(f"http://{client.host}{path}")


def test_a_repair_is_followed_while_it_runs(browser: Browser, tmp_path: Path) -> None:
    journal = write_run(tmp_path / "run", ended=False)
    with served(Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))) as client, reading(browser) as page:
        start(page, client, "/runs/run")
        assert page.locator(".badge.live").first.inner_text() == "running"
        assert page.locator("#patch").count() == 0
        finish(tmp_path / "run", journal, "Total of an empty cart")
        journal.close()
        page.wait_for_selector("#patch")
        page.wait_for_function("document.querySelector('#live').getAttribute('hx-trigger') === null")
        assert page.locator(".facts .badge").inner_text() == "repaired"
        assert page.locator(".diff .new mark, .diff .added .new").count() > 0


def test_a_patch_leads_to_the_demonstration_that_shaped_it(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run").close()
    with served(Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))) as client, reading(browser) as page:
        start(page, client, "/runs/run")
        page.get_by_role("link", name="P1.1", exact=True).first.click()
        assert INSIGHT.text in page.content()
        page.get_by_role("link", name="Average of an empty basket").click()
        page.wait_for_selector("text=The issue it came from")
        assert page.get_by_text("It should be 0.").count() == 1
        assert page.get_by_text("FAIL test_average").count() == 1
        page.get_by_role("link", name="patch 1").click()
        page.wait_for_selector("text=Memories in this prompt")


def test_a_hostile_issue_does_nothing_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run", text=HOSTILE).close()
    with served(Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))) as client, reading(browser) as page:
        for path in ("", "/issue", "/timeline", "/memory"):
            start(page, client, f"/runs/run{path}")
            assert page.evaluate("window.hacked") is None
        start(page, client, "/runs/run/issue")
        assert "<script>window.hacked = 1</script>" in page.locator(".prose.issue").inner_text()


def test_two_arms_are_compared_and_agreements_filtered_out(browser: Browser, tmp_path: Path) -> None:
    campaign_folder(tmp_path / "camp", 7)
    with served(Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))) as client, reading(browser) as page:
        start(page, client, "/campaigns/camp")
        page.wait_for_selector("[data-chart=arms] svg")
        page.get_by_role("link", name="Compare two variants").click()
        assert page.locator("tbody tr").count() == 7
        page.get_by_label("Show").select_option("disagreements")
        page.get_by_role("button", name="Compare").click()
        page.wait_for_function("document.querySelectorAll('tbody tr').length < 7")
        page.locator("tbody a").first.click()
        assert page.locator(".two > div").count() == 2


def test_what_waits_is_accepted_by_a_click(browser: Browser, tmp_path: Path) -> None:
    shelf = Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))
    with Store.open(str(tmp_path / "m.db")) as store, served(shelf) as client, reading(browser) as page:
        store.learn(run_lesson("a", trusted=False))
        start(page, client, "/memory/quarantine")
        page.get_by_role("button", name="Accept").click()
        page.wait_for_selector("text=Nothing waits.")
        assert [str(one.state) for one in store.lessons()] == ["accepted"]
        start(page, client, "/memory")
        page.get_by_label("Search issues, scripts and patches").fill("nothing like that")
        page.wait_for_selector("text=No demonstration is like that.")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_axe_finds_no_serious_fault_and_nothing_is_wider_than_the_page(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    write_run(tmp_path / "run").close()
    campaign_folder(tmp_path / "camp", 3)
    shelf = Shelf((tmp_path,), lambda: memory_of(tmp_path / "m.db"))
    demonstration = f"/memory/demonstration?id={SCOPE}/a/tuple"
    with (
        Store.open(str(tmp_path / "m.db")) as store,
        served(shelf) as client,
        reading(browser, width, scheme) as page,
    ):
        store.learn(run_lesson("a"))
        paths = ("/runs/run", "/campaigns/camp", demonstration, "/runs/run/calls/patch-0")
        more = ("/?all=1", "/runs/run/timeline", "/memory", "/memory/growth")
        for path in paths if scheme == "dark" else (*paths, *more):
            start(page, client, path)
            page.wait_for_load_state("networkidle")
            found = [
                one
                for one in Axe().run(page).response["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert [(path, one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_static_copy_opens_from_the_file_system(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "run").close()
    shelf = Shelf((tmp_path / "runs",), lambda: memory_of(tmp_path / "m.db"))
    with ThreadPoolExecutor() as apart:  # playwright runs an event loop in this thread
        apart.submit(write_copy, shelf, tmp_path / "copy").result()
    with reading(browser) as page:
        page.goto((tmp_path / "copy" / "index.html").as_uri())
        page.get_by_role("link", name="Total of an empty cart").click()
        page.get_by_role("link", name="Timeline").click()
        page.get_by_role("link", name="patch", exact=True).first.click()
        assert "You repair code." in page.content()
        assert page.evaluate("getComputedStyle(document.body).marginTop") == "0px"

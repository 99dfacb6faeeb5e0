"""The ranking as a whole, on small repositories made by git."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experepair.domain.memory import PastRepair
from experepair.domain.place import RankedFile, Ranking
from experepair.errors import UsageError
from experepair.localize import GitSource, History, Observed, RankingConfig, rank
from repositories import git, make_repository

SHOP = {
    "shop/cart.py": 'class Cart:\n    """What is to be bought."""\n\n    def add_item(self, item):\n        self.items.append(item)\n\n    def total(self):\n        return sum(item.price for item in self.items)\n',
    "shop/invoice.py": 'def print_invoice(cart):\n    """Write an invoice with tax."""\n    return f"total: {cart.total()}"\n',
    "shop/stock.py": "def reserve(item):\n    raise LookupError('the warehouse has no such thing')\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total() == 0\n",
    "README.md": "A shop.\n",
}


@pytest.fixture
def config(tmp_path: Path) -> RankingConfig:
    return RankingConfig(cache=tmp_path / "cache")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop", SHOP)


def ranked(root: Path, issue: str, config: RankingConfig, **more: object) -> Ranking:
    return rank(issue, GitSource(root), config=config, **more)  # type: ignore[arg-type]


def found(ranking: Ranking, path: str) -> RankedFile:
    return next(file for file in ranking.files if file.path == path)


def paths(ranking: Ranking) -> list[str]:
    return [file.path for file in ranking.files]


def test_words_of_the_issue_find_the_file_and_the_function(shop: Path, config: RankingConfig) -> None:
    ranking = ranked(shop, "The total of invoices shows no tax", config)
    assert paths(ranking)[:2] == ["shop/invoice.py", "shop/cart.py"]
    assert ranking.files[0].functions[0].span.name == "print_invoice"
    assert ranking.confidence == pytest.approx(ranking.files[0].score - ranking.files[1].score)


@pytest.mark.parametrize(
    ("issue", "kind"),
    [
        ("It fails somewhere in shop/stock.py", "path"),
        ("It fails somewhere in shop.stock.reserve", "module"),
        ("`reserve` fails", "identifier"),
        ('File "/home/me/shop/stock.py", line 2, in reserve\n', "traceback"),
        ("Message: the warehouse has no such thing", "phrase"),
    ],
)
def test_what_the_issue_names_is_shown_as_evidence(
    shop: Path, config: RankingConfig, issue: str, kind: str
) -> None:
    ranking = ranked(shop, issue, config)
    assert paths(ranking)[0] == "shop/stock.py"
    assert kind in {each.kind for each in ranking.files[0].evidence}


def test_test_files_are_ranked_only_on_demand(shop: Path, config: RankingConfig) -> None:
    issue = "tests/test_cart.py::test_total is wrong about Cart"
    assert "tests/test_cart.py" not in paths(ranked(shop, issue, config))
    wider = config.model_copy(update={"include_tests": True})
    assert "tests/test_cart.py" in paths(ranked(shop, issue, wider))


def test_evidence_comes_in_order_of_weight_and_adds_up_to_the_score(
    shop: Path, config: RankingConfig
) -> None:
    file = ranked(shop, "Cart.total ignores `add_item` in shop/cart.py", config).files[0]
    weights = [each.weight for each in file.evidence]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(file.score, abs=0.01)


def test_the_working_tree_does_not_matter(shop: Path, config: RankingConfig) -> None:
    (shop / "shop/invoice.py").unlink()
    (shop / "shop/extra.py").write_text("def print_invoice(): pass\n")
    assert paths(ranked(shop, "Invoices print no tax", config))[0] == "shop/invoice.py"


def test_a_past_repair_lifts_the_files_that_it_changed(shop: Path, config: RankingConfig) -> None:
    past = (PastRepair(("shop/stock.py", "gone.py"), "issue-7"),)
    without, lifted = (
        found(ranked(shop, "the item is wrong", config, past_repairs=repairs), "shop/stock.py")
        for repairs in ((), past)
    )
    assert lifted.score > without.score
    assert "issue-7" in {each.detail for each in lifted.evidence}


def test_what_only_the_failing_run_executed_is_lifted_most(shop: Path, config: RankingConfig) -> None:
    both = {"shop/cart.py": {5}}
    observed = Observed({"shop/cart.py": {1, 4, 5, 8}, "/elsewhere.py": {1}}, (both, both))
    functions = found(ranked(shop, "something", config, observed=observed), "shop/cart.py").functions
    assert [each.span.name for each in functions] == ["Cart.total", "Cart.add_item"]


def test_executed_test_files_are_not_ranked(shop: Path, config: RankingConfig) -> None:
    observed = Observed({"tests/test_cart.py": {5}, "shop/cart.py": {8}})
    ranking = ranked(shop, "something", config, observed=observed)
    assert "tests/test_cart.py" not in paths(ranking)


def test_a_traceback_of_the_reproduction_counts_like_one_in_the_issue(
    shop: Path, config: RankingConfig
) -> None:
    output = 'Traceback:\n  File "/tree/shop/stock.py", line 2, in reserve\nLookupError'
    ranking = ranked(shop, "It does not work", config, observed=Observed(output=output))
    assert paths(ranking)[0] == "shop/stock.py"


def test_identical_files_are_ranked_each(tmp_path: Path, config: RankingConfig) -> None:
    code = "def frobnicate():\n    return 1\n"
    root = make_repository(tmp_path / "r", {"a/x.py": code, "b/x.py": code})
    ranking = ranked(root, "`frobnicate` returns 1", config)
    assert paths(ranking) == ["a/x.py", "b/x.py"]
    assert all(file.functions[0].span.path == file.path for file in ranking.files if file.functions)


def test_odd_files_are_ranked_like_others(tmp_path: Path, config: RankingConfig) -> None:
    root = make_repository(
        tmp_path / "r",
        {
            "py2.py": "def old_style():\n    print 'spam', `1`\n    raise ValueError, 'eggs'\n",
            "broken.py": "def half(:\n    return (\n\ndef whole_thing():\n    return 2\n",
            "latin.py": b"# -*- coding: latin-1 -*-\ndef gr\xfc\xdfe():\n    return 'caf\xe9 latinword'\n",
            "wide.py": "def wide_name():\n    pass\n".encode("utf-16"),
            "empty.py": "",
            "binary.py": bytes(range(256)) * 50,
            "big.py": "def generated_0(): pass\n" + "x = [1, 2, 3]\n" * 100_000 + "def generated_1(): pass\n",
        },
    )
    for issue, path, name in [
        ("`old_style` prints spam", "py2.py", "old_style"),
        ("`whole_thing` is wrong", "broken.py", "whole_thing"),
        ("latinword is missing", "latin.py", "grüße"),
        ("`wide_name` is wrong", "wide.py", "wide_name"),
        ("`generated_1` is wrong", "big.py", "generated_1"),
    ]:
        best = ranked(root, issue, config).files[0]
        assert (best.path, best.functions[0].span.name) == (path, name)


@pytest.mark.parametrize(
    "issue", ["", "   \n", "?!", "```", "a.b.c.d" * 20_000, "x" * 200_000, "\n" * 200_000]
)
def test_an_issue_that_says_nothing_gives_a_ranking_quickly(
    shop: Path, config: RankingConfig, issue: str
) -> None:
    assert isinstance(ranked(shop, issue, config), Ranking)


def test_a_repository_without_sources_says_so(tmp_path: Path, config: RankingConfig) -> None:
    root = make_repository(tmp_path / "r", {"README": "nothing"})
    ranking = ranked(root, "it fails", config, history=History(root, cache=config.cache))
    assert ranking.files == ()
    assert any("no files" in note for note in ranking.notes)


def test_no_repository_is_a_usage_error(tmp_path: Path, config: RankingConfig) -> None:
    with pytest.raises(UsageError, match="git"):
        ranked(tmp_path, "it fails", config)


def test_links_and_names_that_are_no_text_are_left_out(tmp_path: Path, config: RankingConfig) -> None:
    root = make_repository(tmp_path / "r", {"a.py": "def real_name(): pass\n"})
    (root / "link.py").symlink_to("a.py")
    Path(str(root) + "/b\udcff.py").write_text("def real_name(): pass\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=odd")
    ranking = ranked(root, "`real_name`", config)
    assert paths(ranking) == ["a.py"]
    assert any("UTF-8" in note for note in ranking.notes)


def test_the_ranking_is_the_same_under_any_hash_seed(shop: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from experepair.localize import *\n"
        "print(rank(sys.argv[2], GitSource(Path(sys.argv[1])), history=History(Path(sys.argv[1]),"
        " cache=Path(sys.argv[3])), config=RankingConfig(cache=Path(sys.argv[3]))))"
    )
    argv = [sys.executable, "-c", program, str(shop), "Cart.total in shop/cart.py has no tax item"]
    outputs = {
        subprocess.run(
            [*argv, str(tmp_path / seed)],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_importing_the_package_loads_no_grammar() -> None:
    program = "import sys, experepair.localize; sys.exit('tree_sitter' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.errors import UsageError
from experepair.testing.framework import look, recognise
from experepair.testing.related import RelatedConfig, related_tests

PYTEST_TEST = b"import pytest\n\ndef test_x(): ...\n"
UNITTEST_TEST = b"import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self): ...\n"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"tests/test_a.py": PYTEST_TEST}, "pytest"),
        ({"tests/test_a.py": b"def test_plain(): ...\n"}, "pytest"),
        ({"a_test.py": UNITTEST_TEST}, "unittest"),
        ({"a_test.py": UNITTEST_TEST, "test_b.py": PYTEST_TEST}, "pytest"),
        ({"pytest.ini": b""}, "pytest"),
        ({"setup.cfg": b"[x]\n[tool:pytest]\n", "test_a.py": UNITTEST_TEST}, "pytest"),
        ({"setup.cfg": b"[x]\n", "test_a.py": UNITTEST_TEST}, "unittest"),
        ({"tox.ini": b"[tox]\n[pytest]\n"}, "pytest"),
        ({"pyproject.toml": b"[tool.pytest.ini_options]\n"}, "pytest"),
        ({"pyproject.toml": b"not toml \xff", "test_a.py": UNITTEST_TEST}, "unittest"),
        ({"pyproject.toml": b"tool = 3", "test_a.py": UNITTEST_TEST}, "unittest"),
        ({"pkg/conftest.py": b""}, "pytest"),
        ({"tests/runtests.py": b"", "django/__init__.py": b"", "tests/conftest.py": b""}, "django"),
        ({"tests/runtests.py": b"", "tests/test_a.py": UNITTEST_TEST}, "unittest"),
        ({"bin/test": b"--seed", "sympy/__init__.py": b"", "conftest.py": b""}, "sympy"),
        ({"a.py": b"", "README": b""}, None),
        ({"test_a.py": b"print(1)\n"}, None),
        ({}, None),
    ],
)
def test_a_repository_is_recognised_by_what_it_holds(files: Mapping[str, bytes], name: str | None) -> None:
    framework = recognise(tuple(files), files.get)
    assert (framework and framework.name) == name


TOX = b"[testenv]\nsetenv =\n  DJANGO_SETTINGS_MODULE = tests.settings\n  PYTHONPATH = x\ncommands =\n"
UNDERNEATH: dict[str, tuple[dict[str, bytes], str, tuple[str, ...]]] = {
    "tox": ({"tox.ini": b"[testenv]\ncommands = pytest {posargs:tests} --ds=tests.settings -q\n"}, "pytest", ("--ds=tests.settings",)),
    "tox with a factor": ({"tox.ini": b"[testenv]\ncommands =\n  cov: coverage run -m pytest -p myplugin\n"}, "pytest", ("-p", "myplugin")),
    "tox with a default": ({"tox.ini": b"[testenv]\ncommands =\n  {env:CMD:pytest} {posargs}\n"}, "pytest", ()),
    "tox in setup.cfg": ({"setup.cfg": b"[tox:tox]\n[testenv]\ncommands = python -W error -m unittest\n"}, "unittest", ()),
    "tox.toml": ({"tox.toml": b'[env_run_base]\ncommands = [["pytest", "-c", "cfg.ini"]]\n'}, "pytest", ("-c", "cfg.ini")),
    "nox": ({"noxfile.py": b"import nox\n@nox.session\ndef lint(s):\n  s.run('ruff')\n@nox.session\ndef tests(session):\n  session.run('python', '-m', 'pytest', *session.posargs)\n"}, "pytest", ()),
    "hatch": ({"pyproject.toml": b'[tool.hatch.envs.default.scripts]\nlint = "ruff"\ntest = "pytest {args:tests}"\n'}, "pytest", ()),
    "pdm": ({"pyproject.toml": b'[tool.pdm.scripts]\ntest = {cmd = "python -m unittest"}\n'}, "unittest", ()),
    "poe": ({"pyproject.toml": b'[tool.poe.tasks]\ntest = "poetry run pytest"\n'}, "pytest", ()),
    "make": ({"Makefile": b"PY = python3\nlint:\n\truff\ntest: build\n\t@$(PY) -m unittest -v ${tests}\n"}, "unittest", ()),
    "make without its variable": ({"Makefile": b"test:\n\t$(ENV) $(PYTHON) -m pytest $(ARGS)\n"}, "pytest", ()),
    "make in a shell": ({"Makefile": b"test:\n\tcd . && uv run --with x pytest \\\n\t  -q\n"}, "pytest", ()),
    "django": ({"Makefile": b"test:\n\tpython manage.py test\n", "manage.py": b""}, "manage.py test", ()),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDERNEATH)
def test_what_a_configuration_runs_underneath_is_used(case: str) -> None:
    files, name, options = UNDERNEATH[case]
    found = look((*files, "a_test.py"), {**files, "a_test.py": UNITTEST_TEST}.get)
    assert found.framework is not None
    assert (found.framework.name, found.source) == (name, next(iter(files)))
    command = found.framework.suite(["a_test.py"]).command
    assert " ".join(options) in " ".join(command.argv)


def test_variables_of_the_configuration_are_set_but_never_the_import_path() -> None:
    found = recognise(("tox.ini",), {"tox.ini": TOX + b"  pytest\n"}.get)
    assert found is not None
    env = dict(found.suite(["x"]).command.env)
    assert env["DJANGO_SETTINGS_MODULE"] == "tests.settings"
    assert "PYTHONPATH" not in env


def test_a_runner_that_is_not_known_is_named() -> None:
    found = look(("tox.ini", "a.py"), {"tox.ini": b"[testenv]\ncommands = trial twisted\n"}.get)
    assert found.framework is None
    assert found.unknown == "trial twisted (in tox.ini)"


def test_a_project_that_uses_django_is_run_by_its_manage_py() -> None:
    files = {"site/manage.py": b"", "site/app/tests.py": b"from django.test import TestCase\n"}
    found = recognise(tuple(files), files.get)
    assert found is not None
    command = found.suite(["site/app/tests.py"]).command
    assert (command.argv[1:3], command.argv[-1], command.cwd) == (("manage.py", "test"), "app.tests", "site")


def test_discovery_from_a_folder_that_is_no_package_is_followed() -> None:
    makefile = b"test:\n\tpython -m unittest discover -s tests\n"
    found = recognise(("Makefile", "tests/test_a.py"), {"Makefile": makefile}.get)
    assert found is not None
    assert found.suite(["tests/test_a.py"]).command.argv[-1] == "test_a"
    package = recognise(("Makefile", "tests/__init__.py"), {"Makefile": makefile}.get)
    assert package is not None
    assert package.suite(["tests/test_a.py"]).command.argv[-1] == "tests.test_a"


@pytest.mark.parametrize(
    "name", ["tox.ini", "setup.cfg", "noxfile.py", "pyproject.toml", "hatch.toml", "Makefile"]
)
@given(
    content=st.binary(max_size=300)
    | st.sampled_from([b"[testenv\ncommands", b"\0", b"tool = 1", b"[tool]\nhatch = 1"])
)
def test_an_odd_configuration_upsets_nothing(name: str, content: bytes) -> None:
    look((name,), {name: content}.get)


@pytest.mark.parametrize("command", ["make test", "pytest tests"])
def test_a_test_command_without_a_place_for_files_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match=r"has no \{files\}"):
        recognise((), dict[str, bytes]().get, command)


def test_the_users_command_comes_before_all_that_is_found() -> None:
    framework = recognise(("pytest.ini",), {"pytest.ini": b""}.get, "make check TESTS={files}")
    assert framework is not None
    assert framework.suite(["a b.py", "c.py"]).command.argv == ("sh", "-c", "make check TESTS='a b.py' c.py")


PROJECT: dict[str, bytes] = {
    "pkg/forms.py": b"class CharField: ...\n",
    "pkg/models.py": b"class Model: ...\n",
    "pkg/util/text.py": b"def slugify(x): ...\n",
    "tests/test_forms.py": b"from pkg.forms import CharField\n",
    "tests/test_models.py": b"from pkg import models\nfrom pkg.models import Model\n",
    "tests/test_text.py": b"from pkg.util.text import slugify\n",
    "tests/util_tests/tests.py": b"import unittest\n",
    "tests/test_indirect.py": b"import json, pkg.util.text as t\n",
    "pkg/util/test_relative.py": b"from .text import slugify\nfrom ..forms import (\n    CharField)\n",
    "tests/test_other.py": b"import json\n",
    "tests/helper.py": b"from pkg.forms import CharField\n",
}


HOLDS_A_TEST = b"\ndef test_it():\n    pass\n"


def read(path: str) -> bytes | None:
    """Content of a file of the project; the test files have a test."""
    content = PROJECT.get(path)
    return content + HOLDS_A_TEST if content is not None and "test" in path else content


def related(
    issue: str, *touched: str, limit: int = 10, config: RelatedConfig | None = None
) -> tuple[str, ...]:
    return related_tests(issue, touched, tuple(PROJECT), read, limit, config=config)


def test_the_test_that_is_named_after_the_touched_file_comes_first() -> None:
    assert related("", "pkg/forms.py")[0] == "tests/test_forms.py"
    assert related("", "pkg/util/text.py")[0] == "tests/test_text.py"


def test_tests_that_import_the_touched_module_are_found_however_they_do() -> None:
    only_imports = RelatedConfig(same_name=0, beside=0, words=0, named_in_issue=0, path_words=0)
    assert related("", "pkg/util/text.py", config=only_imports) == (
        "pkg/util/test_relative.py",
        "tests/test_indirect.py",
        "tests/test_text.py",
    )
    assert related("", "pkg/models.py", config=only_imports) == ("tests/test_models.py",)


def test_the_issue_alone_leads_to_tests_that_use_its_words() -> None:
    assert related("`CharField` is wrong")[:2] == ("pkg/util/test_relative.py", "tests/test_forms.py")
    assert related("The Model is wrong, see tests/test_other.py")[0] == "tests/test_other.py"


def test_only_test_files_are_returned_and_at_most_as_many_as_asked_for() -> None:
    assert "tests/helper.py" not in related("`CharField`", "pkg/forms.py")
    assert len(related("`CharField` `slugify`", "pkg/forms.py", "pkg/util/text.py", limit=2)) == 2
    assert related("`CharField`", limit=0) == ()


def test_a_file_that_is_named_like_a_test_and_holds_none_is_not_returned() -> None:
    files = {"pkg/commands/test.py": b"class Command:\n    pass\n", "pkg/forms.py": b""}
    assert related_tests("", ("pkg/commands/test.py",), tuple(files), files.get, 9) == ()


def test_a_touched_test_is_related_to_itself() -> None:
    assert related("", "tests/test_other.py")[0] == "tests/test_other.py"


@pytest.mark.parametrize("issue", ["", "\0\ud800", "`" * 5000, "a_b " * 5000])
@pytest.mark.parametrize("touched", ["", "missing.py", "README", "__init__.py"])
def test_an_odd_issue_or_path_upsets_nothing(issue: str, touched: str) -> None:
    assert set(related(issue, touched)) <= set(PROJECT)


def test_the_order_does_not_depend_on_the_order_of_the_files() -> None:
    forwards = related_tests("`slugify`", ("pkg/forms.py",), tuple(PROJECT), read, 9)
    assert related_tests("`slugify`", ("pkg/forms.py",), tuple(reversed(PROJECT)), read, 9) == forwards

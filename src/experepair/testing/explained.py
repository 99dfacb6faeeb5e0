"""Why a test run comes to nothing, read off its output, and what helps."""

from __future__ import annotations

import re

_PLUGINS = {
    "--cov": "pytest-cov", "--no-cov": "pytest-cov", "-n": "pytest-xdist", "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist", "--timeout": "pytest-timeout", "--asyncio-mode": "pytest-asyncio", "--ds": "pytest-django",
    "--reuse-db": "pytest-django", "--nomigrations": "pytest-django", "--benchmark": "pytest-benchmark",
    "--reruns": "pytest-rerunfailures", "--mypy": "pytest-mypy", "--flake8": "pytest-flake8", "--black": "pytest-black",
    "--randomly": "pytest-randomly", "--random-order": "pytest-random-order", "--snapshot": "syrupy",
    "--socket": "pytest-socket", "--disable-socket": "pytest-socket", "--forked": "pytest-forked",
    "--html": "pytest-html", "--codspeed": "pytest-codspeed", "--sugar": "pytest-sugar", "--doctest-plus": "pytest-doctestplus",
}  # fmt: skip
_FIXTURES = {
    "mocker": "pytest-mock", "benchmark": "pytest-benchmark", "httpx_mock": "pytest-httpx", "snapshot": "syrupy",
    "freezer": "pytest-freezer", "requests_mock": "requests-mock", "db": "pytest-django", "httpbin": "pytest-httpbin",
    "httpserver": "pytest-httpserver", "faker": "faker", "subtests": "pytest-subtests", "fs": "pyfakefs",
    "event_loop": "pytest-asyncio", "data_regression": "pytest-regressions", "datadir": "pytest-datadir",
}  # fmt: skip
_MISSING = re.compile(r"\bNo module named '?(\w[\w.]*)'?")
_UNKNOWN = re.compile(r"error: unrecognized arguments: (.+)")
_REQUIRED = re.compile(r"Missing required plugins: (.+)")
_FIXTURE = re.compile(r"fixture '(\w+)' not found")
_NETWORK = re.compile(
    r"Temporary failure in name resolution|Network is unreachable|Name or service not known"
)
_DATABASE = re.compile(r"(could not connect to server|Connection refused|Can't connect to \w+ server)")


def explain(output: str) -> str:
    """The cause that is recognised, with what helps, in a line; "" when none is."""
    if found := _MISSING.search(output):
        return f"{found[1].split('.')[0]!r} is not installed in the interpreter's environment"
    if found := _REQUIRED.search(output):
        return f"plugins of pytest are not installed: {found[1].strip()}"
    if found := _UNKNOWN.search(output):
        plugins = sorted({plugin for word in found[1].split() if (plugin := _plugin(word))})
        lacking = f": install {', '.join(plugins)}" if plugins else ""
        return f"the project's configuration gives pytest options that it doesn't know ({found[1].strip()}){lacking}"
    if (found := _FIXTURE.search(output)) and found[1] in _FIXTURES:
        return f"the fixture {found[1]!r} is not there: install {_FIXTURES[found[1]]}"
    if "ImproperlyConfigured" in output and "DJANGO_SETTINGS_MODULE" in output:
        return (
            "Django has no settings: name them in --test-command, as in "
            "'DJANGO_SETTINGS_MODULE=project.settings python -m pytest {files}'"
        )
    if _NETWORK.search(output) or _DATABASE.search(output):
        return "the tests ask for the network or a server, and there is none in the sandbox"
    return ""


def _plugin(word: str) -> str:
    option = word.partition("=")[0]
    if option.startswith("-n") and not option.startswith("--"):
        return _PLUGINS["-n"]
    while option.startswith("--"):
        if option in _PLUGINS:
            return _PLUGINS[option]
        option = option.rpartition("-")[0]
    return ""

"""Causes that are read off a test run's output."""

from __future__ import annotations

import pytest

from experepair.testing.explained import explain


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("/usr/bin/python3: No module named pytest", "'pytest' is not installed"),
        ("E   ModuleNotFoundError: No module named 'yaml.nodes'", "'yaml' is not installed"),
        (
            "Error importing plugin \"pytest_cov\": No module named 'pytest_cov'",
            "'pytest_cov' is not installed",
        ),
        (
            "__main__.py: error: unrecognized arguments: --cov=x --cov-report=xml -n 4",
            "install pytest-cov, pytest-xdist",
        ),
        ("ERROR: Missing required plugins: pytest-mock>=3", "pytest-mock>=3"),
        ("E       fixture 'mocker' not found", "install pytest-mock"),
        ("ImproperlyConfigured: ... define DJANGO_SETTINGS_MODULE", "--test-command"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "none in the sandbox"),
        ("E       fixture 'unheard_of' not found", ""),
        ("3 failed, 2 passed", ""),
        ("", ""),
    ],
)
def test_a_cause_is_said_with_what_helps(output: str, said: str) -> None:
    told = explain(output)
    assert said in told
    assert bool(told) == bool(said)

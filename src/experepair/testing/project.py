"""Reads a project's configuration files without trusting them: what can't be read says nothing."""

from __future__ import annotations

import configparser
import tomllib
from collections.abc import Callable
from typing import Any

Read = Callable[[str], bytes | None]
"""Content of a file by path, None for what isn't there."""


def text_of(content: bytes | None) -> str:
    """As text, with odd bytes replaced."""
    return (content or b"").decode("utf-8", "replace")


def toml_of(content: bytes | None) -> dict[str, Any]:
    """As a TOML document."""
    try:
        return tomllib.loads((content or b"").decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return {}


def ini_of(text: str) -> configparser.ConfigParser:
    """As an ini file, values as they are written."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=", ":"))
    try:
        parser.read_string(text)
    except configparser.Error:
        return configparser.ConfigParser(interpolation=None)
    return parser


def at(value: Any, *keys: str) -> Any:
    """What lies below these keys; None when a table on the way is missing or is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value

"""What secrets look like: one rule for each kind, tried only where its mark is seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import log2

MASKED = "<masked>"
"""Stands where a secret was; no rule takes it for one."""

_BEGINS, _ENDS = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9_-]-)", r"(?![A-Za-z0-9_])"
"""A minus may stand before a key, as in a diff, but one word of a hyphenated chain is no beginning: that keeps it linear."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one kind of secret is found.

    Attributes:
        marks: one of these is in every text that holds such a secret.
        pattern: the secret is its group "secret", or all that it matches.
        is_secret: decides about what the pattern found.
        any_case: whether the marks are looked for in lower case.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool] = lambda found: True
    any_case: bool = False


def is_random(text: str) -> bool:
    """Whether a value was drawn rather than written: letters and digits mixed, without words."""
    kinds = sum(bool(re.search(kind, text)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    if len(text) < 16 or kinds < 2 or not re.search("[0-9]", text) or _COUNTED.search(text):
        return False
    entropy = -sum(text.count(mark) / len(text) * log2(text.count(mark) / len(text)) for mark in set(text))
    words = sum(map(len, _WORD.findall(text)))
    return entropy >= _LEAST_ENTROPY and words <= len(text) / 2


_WORD = re.compile(r"(?<![A-Za-z])[A-Z]?[a-z]{3,}(?![a-z])")
_COUNTED = re.compile(r"0123|1234|abcd|ABCD|(.)\1{4}")
_LEAST_ENTROPY = 3.0
"""Bits a character; a random hexadecimal value of 16 marks has 3 and more."""


def _prefixed(*prefixes: str, then: str) -> Rule:
    """Keys that their providers gave a prefix by which they can be found."""
    either = "|".join(map(re.escape, prefixes))
    return Rule(prefixes, re.compile(rf"{_BEGINS}(?:{either}){then}{_ENDS}"), _is_varied)


def _is_varied(found: str) -> bool:
    """Whether it isn't a placeholder such as sk-xxxxxxxx."""
    return len(set(found[-16:])) > 5


_TEXT = r"[A-Za-z0-9_-]"
_ASSIGNED = ("secret", "token", "passw", "passphrase", "pwd", "apikey", "api_key", "api-key", "access_key", "access-key",
             "accesskey", "private_key", "client_key", "account_key", "accountkey", "auth_key", "credential")  # fmt: skip

_PLACEHOLDERS = frozenset(
    {"pass", "password", "passwd", "pwd", "secret", "pw", "***", "xxx", "port", "x-oauth-basic"}
)
_IS_CODE = re.compile(r"\.[A-Za-z_]\w*\b.*\.|^[a-z_]+\.[a-z_.]+$|^[a-z]+(?:_[a-z0-9]+)+$")
"""A dotted name, or one with underscores: what computes a secret is none."""

RULES: tuple[Rule, ...] = (
    # models: OpenAI, Anthropic, DeepSeek, OpenRouter, Groq, xAI, Perplexity, Hugging Face, Replicate, NVIDIA, Fireworks
    _prefixed(
        "sk-", then=rf"(?:[a-z]{{2,8}}(?:-?[a-z0-9]{{2,6}})?-)?{_TEXT}{{0,80}}[A-Za-z0-9]{{16}}{_TEXT}*"
    ),
    _prefixed("gsk_", "xai-", "pplx-", "nvapi-", "fw_", "r8_", then=rf"{_TEXT}{{24,}}"),
    _prefixed("hf_", then=r"[A-Za-z]{30,}"),
    # forges and registries: GitHub, GitLab, Bitbucket, npm, PyPI, RubyGems, Docker, crates.io
    _prefixed("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", then=r"[A-Za-z0-9_]{20,}"),
    _prefixed("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", then=rf"{_TEXT}{{20,}}"),
    _prefixed("npm_", "dckr_pat_", "rubygems_", "ATBB", then=rf"{_TEXT}{{24,}}"),
    _prefixed("pypi-AgE", "ATATT3", then=rf"{_TEXT}{{20,}}=?[A-Z0-9]*"),
    # clouds: AWS, Google, DigitalOcean, Azure, Databricks, Cloudflare, Vault, Terraform, Heroku, Fly, Supabase, Tailscale
    _prefixed("AKIA", "ASIA", "ABIA", "ACCA", then=r"[A-Z0-9]{16}"),
    _prefixed("AIza", then=rf"{_TEXT}{{35}}"),
    _prefixed("ya29.", "GOCSPX-", "1//0", then=rf"{_TEXT}{{20,}}"),
    _prefixed("dop_v1_", "doo_v1_", "dor_v1_", "dapi", then=r"[a-f0-9]{32,}"),
    _prefixed("hvs.", "hvb.", then=r"[A-Za-z0-9_-]{24,}"),
    _prefixed("HRKU-", "fo1_", "sbp_", "tskey-", "pscale_tkn_", "pscale_pw_", then=rf"{_TEXT}{{20,}}"),
    Rule(("AccountKey=",), re.compile(r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,})")),
    Rule(
        (".atlasv1.",),
        re.compile(rf"{_BEGINS}[A-Za-z0-9]{{10,}}\.atlasv1\.{_TEXT}{{30,}}"),
    ),
    # talk, payments, mail, watching: Slack, Stripe, SendGrid, Shopify, Square, Telegram, Discord, Sentry, Grafana, …
    _prefixed("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-", then=rf"{_TEXT}{{10,}}"),
    _prefixed("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", then=r"[A-Za-z0-9]{16,}"),
    _prefixed("shpat_", "shpca_", "shppa_", "shpss_", then=r"[a-fA-F0-9]{32}"),
    _prefixed("SG.", then=rf"{_TEXT}{{16,}}\.{_TEXT}{{16,}}"),
    _prefixed("EAAA", "sq0atp-", "sq0csp-", then=rf"{_TEXT}{{22,}}"),
    _prefixed(
        "sntrys_",
        "sntryu_",
        "glc_",
        "glsa_",
        "NRAK-",
        "PMAK-",
        "lin_api_",
        "figd_",
        "secret_",
        "key-",
        then=r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{27,}",
    ),
    Rule(("AGE-SECRET-KEY-1",), re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{50,}")),
    Rule((":AA",), re.compile(rf"{_BEGINS}\d{{8,10}}:AA{_TEXT}{{33}}{_ENDS}")),
    Rule(
        ("hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
        re.compile(
            r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)/(?P<secret>[\w/-]{20,})"
        ),
    ),
    # of any provider: JSON web tokens, headers, passwords in addresses, what is assigned to a telling name
    Rule(("eyJ",), re.compile(rf"{_BEGINS}eyJ{_TEXT}{{8,}}\.eyJ{_TEXT}{{8,}}(?:\.{_TEXT}*)?")),
    Rule(
        ("bearer ", "basic ", "token "),
        re.compile(r"(?i)\b(?:bearer|basic|token)[ ]+(?P<secret>[A-Za-z0-9+/_.~=-]{16,})"),
        is_random,
        any_case=True,
    ),
    Rule(
        ("://",),
        re.compile(r"://[^\s/:@'\"<>]{0,200}:(?P<secret>[^\s/@'\"<>{}%$]{3,200})@(?=[\w\[])"),
        lambda found: found.lower() not in _PLACEHOLDERS,
    ),
    Rule(
        _ASSIGNED,
        re.compile(
            r"(?i)(?:secret|token|passw|passphrase|pwd|api[_-]?key|access[_-]?key|(?:private|client|account|auth)[_-]?key"
            r"|credential)[\w.-]{0,40}[\"']?\]?[ \t]*(?::[ \t]*[\w.]+[ \t]*)?(?:=>|:=|=|:)[ \t]*(?:[bru]{0,2}[\"'])?"
            r"(?P<secret>[A-Za-z0-9+/_.~!@#$%^&*=-]{16,}+)(?!\()"
        ),
        lambda found: is_random(found) and not _IS_CODE.search(found),
        any_case=True,
    ),
)
"""Every kind but private keys, which are several lines."""

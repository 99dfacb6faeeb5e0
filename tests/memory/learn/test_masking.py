"""Secrets and folders leave every text before it is kept; the rest of it stays as it is."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experepair.domain.issue import Issue
from experepair.domain.memory import Demonstration, Failure, Operation, OperationKind
from experepair.domain.roles import Agent
from experepair.memory.learn.credentials import MASKED, RULES
from experepair.memory.learn.masking import mask, masked
from experepair.memory.lesson import Lesson, Source

R = "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lq7Wm5Vn3"  # drawn, not written: parts of it are the tails of the keys below

# Put together here, so that nobody who scans this repository takes them for real ones.
SECRETS = {
    "OpenAI": "sk-" + "proj-" + R,
    "OpenAI, old": "sk-" + R + R[:9],
    "Anthropic": "sk-" + "ant-api03-" + R + "-_AA",
    "OpenRouter": "sk-" + "or-v1-" + "0a1b2c3d4e5f6789" * 4,
    "DeepSeek": "sk-" + "0a1b2c3d4e5f67890a1b2c3d4e5f6789",
    "Groq": "gsk" + "_" + R,
    "xAI": "xai" + "-" + R,
    "Perplexity": "pplx" + "-" + R,
    "NVIDIA": "nvapi" + "-" + R,
    "Hugging Face": "hf" + "_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "GitHub": "ghp" + "_" + R[:36],
    "GitHub, fine": "github" + "_pat_" + R[:22] + "_" + R,
    "GitLab": "glpat" + "-" + R[:20],
    "npm": "npm" + "_" + R[:36],
    "PyPI": "pypi" + "-AgEIcHlwaS5vcmc" + R,
    "Docker": "dckr" + "_pat_" + R[:27],
    "AWS": "AKIA" + "Z7QW8ER5TY6UI3OP",
    "Google": "AIza" + R[:35],
    "Google OAuth": "ya29" + "." + R,
    "Slack": "xoxb" + "-123456789012-" + R[:24],
    "Stripe": "sk" + "_live_" + R[:24],
    "SendGrid": "SG" + "." + R[:22] + "." + R,
    "Shopify": "shpat" + "_" + "0a1b2c3d4e5f67890a1b2c3d4e5f6789",
    "DigitalOcean": "dop" + "_v1_" + "0a1b2c3d4e5f6789" * 4,
    "Databricks": "dapi" + "0a1b2c3d4e5f67890a1b2c3d4e5f6789",
    "Vault": "hvs" + "." + R,
    "Telegram": "123456789" + ":AA" + R[:33],
    "web token": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxMjM0In0" + "." + R,
}
FRAMES = (
    "{}",
    "KEY = '{}'",
    '{{"key": "{}"}}',
    "+    client = Client({!r})",
    "curl -H 'X-Key: {}' \\",
    "key={}&x=1",
)


@pytest.mark.parametrize("name", SECRETS)
def test_keys_of_every_provider_are_masked_wherever_they_stand(name: str) -> None:
    for frame in FRAMES:
        text = frame.format(SECRETS[name])
        assert mask(text) == frame.replace("{!r}", "'{}'").format(MASKED), frame


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (f"password = '{R[:20]}'", f"password = '{MASKED}'"),
        (f"API_KEY: {R}", f"API_KEY: {MASKED}"),
        (f'"clientSecret": "{R}",', f'"clientSecret": "{MASKED}",'),
        (f"os.environ['AUTH_TOKEN'] = '{R}'", f"os.environ['AUTH_TOKEN'] = '{MASKED}'"),
        (f"token: str = '{R}'", f"token: str = '{MASKED}'"),
        (f"export AWS_SECRET_ACCESS_KEY={R}", f"export AWS_SECRET_ACCESS_KEY={MASKED}"),
        (f"Authorization: Bearer {R}", f"Authorization: Bearer {MASKED}"),
        ("postgresql://user:hunter2@db.example.org/x", f"postgresql://user:{MASKED}@db.example.org/x"),
        ("redis://:s3cr3t!@cache:6379/0", f"redis://:{MASKED}@cache:6379/0"),
        (f"AccountName=x;AccountKey={R}{R}==;", f"AccountName=x;AccountKey={MASKED};"),
        (f"https://hooks.slack.com/services/T0/B0/{R[:24]}", f"https://hooks.slack.com/services/{MASKED}"),
    ],
)
def test_what_is_assigned_sent_or_in_an_address_is_masked_and_nothing_beside_it(
    text: str, after: str
) -> None:
    assert mask(text) == after


def test_a_private_key_loses_its_content_and_keeps_its_lines() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"
    text = f"+KEY = '''\n+-----BEGIN RSA PRIVATE KEY-----\n+{line}\n+{line}==\n+-----END RSA PRIVATE KEY-----\n+'''\n+x = 1\n"
    after = mask(text)
    assert line not in after
    assert after.splitlines()[2:5] == ["+" + MASKED, "+" + MASKED, "+-----END RSA PRIVATE KEY-----"]
    assert after.endswith("+x = 1\n")
    assert line not in mask(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{line}\ncut here")
    assert line not in mask(
        f'"private_key": "-----BEGIN PRIVATE KEY-----\\n{line}\\n-----END PRIVATE KEY-----\\n"'
    )


def test_folders_of_people_and_of_the_moment_are_named_by_what_they_are() -> None:
    folders = {"/srv/build/repo": "<repo>"}
    assert mask('File "/home/alice/p/a.py", line 3') == 'File "~/p/a.py", line 3'
    assert mask("/Users/bob/venv/lib/python3.9/site.py") == "~/venv/lib/python3.9/site.py"
    assert mask(r"C:\Users\Bob Smith\p\a.py") == r"~\p\a.py"
    assert mask("/root/.cache/x") == "~/.cache/x"
    assert mask("/tmp/tmpab12cd34/a.py /tmp/pytest-of-bob/pytest-3/test_x0/a") == "<tmp>/a.py <tmp>/test_x0/a"
    assert mask("/var/folders/xy/abc_123/T/tmp1/a") == "<tmp>/tmp1/a"
    assert (
        mask("in /srv/build/repo/pkg/a.py and /srv/build/repo-2", folders)
        == "in <repo>/pkg/a.py and /srv/build/repo-2"
    )


ORDINARY = [
    "password = models.CharField(max_length=128)",
    "def set_password(self, raw_password): self.password = make_password(raw_password)",
    "token = default_token_generator.make_token(user)",
    "SECRET_KEY = settings.SECRET_KEY_FALLBACKS[0]",
    "csrf_token = get_token(request)",
    "tokenize: tokens = list(tokenize.generate_tokens(readline))",
    "password='correct-horse-battery-staple'",
    "reset_url_token = 'set-password'",
    "self.assertEqual(token, 'internal_reset_url_token')",
    "AUTH_PASSWORD_VALIDATORS = 'django.contrib.auth.password_validation.MinimumLengthValidator'",
    "index 08f33fa7d3..f64bc3c6fb 100644",
    "commit 7e08baa5c02ec5d329690a1b2c3d4e5f67890a1b",
    "disk-usage-of-all-partitions, mask-image, task-123456789012345678901",
    "hash = hashlib.sha256(b'0123456789abcdef').hexdigest()",
    "http://localhost:8000/admin/@me and https://example.org/a:b@c",
    "urlpatterns = [path('home/<int:pk>/', view), path('/tmp', view)]",
    "open('/tmp/out.txt'); sys.path.insert(0, '/usr/lib/python3/dist-packages')",
    "client.get('/home/'); reverse('home/users')",
    "password_mgr = urllib2.HTTPPasswordMgrWithDefaultRealm()",
    'url = f"https://{token}:x-oauth-basic@github.com/{SLUG}.git"',
    "key-value-store-implementation-details-follow",
    "git@github.com:owner/name.git, ssh://git@github.com/owner/name.git",
    "basic = 'Basic authentication is required'; token authentication_failed_again",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_code_stays_as_it_is(text: str) -> None:
    assert mask(text) == text


MARKS = sorted({mark for rule in RULES for mark in rule.marks})


@pytest.mark.parametrize("between", ["", "-", ".", "a", "a.", "/", "=", ": ", ":a", "1_"])
def test_hostile_text_is_masked_in_time_that_grows_with_its_length(between: str) -> None:
    started = time.process_time()
    for mark in (*MARKS, "/tmp/", "/home/", "-----BEGIN PRIVATE KEY-----", "tokenAAAAAAAAAAAAAAAAAAAA"):
        mask((mark + between) * (20_000 // len(mark + between)))
    assert time.process_time() - started < 5  # about 0.5; a minute where a rule is quadratic


def test_what_no_database_takes_becomes_an_escape() -> None:
    assert mask("a\0b\udc80c") == "a\\x00b\\udc80c"


PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *SECRETS.values(),
                *ORDINARY,
                "/home/",
                "/Users/x",
                "/tmp/tmp",
                "-----BEGIN PRIVATE KEY-----",
                "-----END PRIVATE KEY-----",
                "password=",
                "token: ",
                "://",
                ":",
                "@",
                "~",
                "<",
                MASKED,
                "\n",
                "\r\n",
                "\0",
                " ",
                "'",
                "Bearer ",
                "/srv/r",
                R,
            ]
        ),
        st.text(max_size=12),
    ),
    max_size=12,
)


@given(PIECES)
def test_masking_twice_is_masking_once_and_no_line_is_lost(pieces: list[str]) -> None:
    text, folders = "".join(pieces), {"/srv/r": "<repo>"}
    once = mask(text, folders)
    assert mask(once, folders) == once
    assert once.count("\n") == text.count("\n")


CODE = st.text("abcdefgh_.()[]=+-*:, \n'\"#/<>%{}@", max_size=200)


@given(CODE)
def test_text_without_digits_capitals_and_folders_is_never_changed(code: str) -> None:
    if "://" not in code and "/root/" not in code:
        assert mask(code) == code


def test_every_text_of_a_lesson_is_masked() -> None:
    bad = f"{SECRETS['GitHub']} /home/alice/x /work/r/a.py"
    good = f"{MASKED} ~/x <repo>/a.py"
    demonstration = Demonstration("d", Agent.PATCH, "i", bad, bad, Failure(bad, bad))
    lesson = Lesson(
        "run:1", Source.RUN, Issue("i", "s", bad), datetime(2026, 1, 1, tzinfo=UTC), patch=bad,
        demonstrations=(demonstration,), operations={Agent.TEST: (Operation(OperationKind.ADD, bad),)},
    )  # fmt: skip
    after = masked(lesson, Path("/work/r"))
    assert after == replace(
        lesson, issue=replace(lesson.issue, text=good), patch=good,
        demonstrations=(replace(demonstration, issue=good, success=good, failure=Failure(good, good)),),
        operations={Agent.TEST: (Operation(OperationKind.ADD, good),)},
    )  # fmt: skip
    assert masked(after, Path("/work/r")) == after

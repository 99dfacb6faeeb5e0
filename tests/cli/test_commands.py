from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import toy
from experepair.llm.stub import Answer, Asked, StubProvider

HEAVY = (
    "alembic", "anthropic", "fastapi", "genai_prices", "google", "jinja2", "openai", "pydantic_ai", "sqlalchemy",
    "tantivy", "tree_sitter",
)  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return toy.repository(tmp_path / "repo")


def cli(
    *arguments: str, cwd: Path, given: bytes = b"", path: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    own = {"XDG_CACHE_HOME": f"{cwd}/cache", "XDG_CONFIG_HOME": f"{cwd}/config", "HOME": str(cwd), **env}
    done = subprocess.run(
        [sys.executable, "-m", "experepair", *arguments], cwd=cwd, capture_output=True, check=False, timeout=120,
        input=given, env={"PATH": path or os.environ["PATH"], "LANG": "C.UTF-8", **own},
    )  # fmt: skip
    text = (done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in text[1], text[1]
    return subprocess.CompletedProcess(done.args, done.returncode, *text)


def test_help_imports_no_model_sdk_and_nothing_else_that_is_heavy() -> None:
    source = (
        "import sys\nsys.argv = ['experepair', '--help']\nfrom experepair.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, check=True, text=True)
    assert "Usage: experepair" in done.stdout
    assert done.stdout.rstrip().endswith("LOADED []")


@pytest.mark.parametrize("command", ["fix", "localize", "doctor", "demo"])
def test_every_command_has_help_and_an_entry_in_the_docs(command: str, tmp_path: Path) -> None:
    text = cli(command, "--help", cwd=tmp_path, COLUMNS="200").stdout
    assert f"experepair {command}" in text
    assert len(text.split("Options:")[0].split("\n\n")[1].split()) > 5
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert f"## experepair {command}" in documented
    options = {word.strip("[],;.") for word in text.split() if word.startswith("--")} - {"--help"}
    assert not {option for option in options if option not in documented}


def test_the_version_is_told(tmp_path: Path) -> None:
    import experepair

    assert cli("--version", cwd=tmp_path).stdout == f"experepair {experepair.__version__}\n"


WRONG_INPUT = {
    "no repository": (["fix", ".", "--issue", "x", "--model", "openai:stub"], "git init"),
    "no such folder": (["fix", "nowhere", "--issue", "x", "--model", "openai:stub"], "not a folder"),
    "empty issue": (["fix", "repo", "--issue", "empty.md", "--model", "openai:stub"], "is empty"),
    "binary issue": (["fix", "repo", "--issue", "binary.md", "--model", "openai:stub"], "not text"),
    "10 MB issue": (["fix", "repo", "--issue", "large.md", "--model", "openai:stub"], "1,000,000"),
    "missing issue": (["fix", "repo", "--issue", "missing.md", "--model", "openai:stub"], "no file"),
    "no model": (["fix", "repo", "--issue", "x"], "--model"),
    "missing key": (["fix", "repo", "--issue", "x", "--model", "openai:gpt-4o"], "OPENAI_API_KEY"),
    "unknown provider": (["fix", "repo", "--issue", "x", "--model", "nobody:model"], "nobody"),
    "no provider": (["fix", "repo", "--issue", "x", "--model", "gpt-4o"], "gpt-4o"),
    "wrong URL": (["fix", "repo", "--issue", "x", "--model", "openai:m", "--base-url", "ftp:/x"], "ftp:/x"),
    "unknown commit": (["fix", "repo", "--issue", "x", "--model", "manual", "--commit", "v9"], "v9"),
    "unknown interpreter": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--python", "/no/py"],
        "/no/py",
    ),
    "wrong price": (["fix", "repo", "--issue", "x", "--model", "manual", "--price", "cheap"], "cheap"),
    "wrong temperature": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--temperature", "hot=1"],
        "hot=1",
    ),
    "wrong sandbox": (["fix", "repo", "--issue", "x", "--model", "manual", "--sandbox", "jail"], "jail"),
    "no tokens": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--max-tokens", "0"],
        "must be more than 0",
    ),
    "tests that can't be chosen": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--test-command", "make test"],
        "has no {files}",
    ),
    "negative cap": (["fix", "repo", "--issue", "x", "--model", "manual", "--max-cost", "-1"], "max_cost"),
    "memory that is none": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--memory", "mysql://u@host/x"],
        "mysql://u@host/x",
    ),
    "wrong arm": (["fix", "repo", "--issue", "x", "--model", "manual", "--without", "luck"], "luck"),
    "wrong retriever": (
        ["fix", "repo", "--issue", "x", "--model", "manual", "--retriever", "guess"],
        "recall.retriever",
    ),
    "unknown flag": (["fix", "repo", "--issue", "x", "--modle", "manual"], "--modle"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_INPUT.values(), ids=WRONG_INPUT.keys())
def test_wrong_input_is_one_clear_message_with_status_2(
    repo: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "binary.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "large.md").write_text("word " * 2_000_000)
    done = cli(*arguments, cwd=tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "experepair-out").exists()
    assert repo.is_dir()


def test_an_unknown_price_refuses_a_cap_on_cost_unless_the_price_or_a_cap_on_tokens_is_given(
    repo: Path, tmp_path: Path
) -> None:
    del repo
    fix = ("fix", "repo", "--issue", "x", "--model", "openai:stub", "--max-cost", "1", "--base-url")
    refused = cli(*fix, "http://127.0.0.1:9/v1", cwd=tmp_path, OPENAI_API_KEY="k")
    assert refused.returncode == 2
    assert "--price" in refused.stderr
    assert "--max-tokens" in refused.stderr
    allowed = cli(*fix, "http://127.0.0.1:9/v1", "--max-tokens", "9", cwd=tmp_path, OPENAI_API_KEY="k")
    assert allowed.returncode in (3, 5)


def test_a_provider_that_cannot_be_reached_ends_with_status_3(repo: Path, tmp_path: Path) -> None:
    done = cli(
        "fix", str(repo), "--issue", "x", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path,
        OPENAI_API_KEY="k", EXPEREPAIR_RETRY__UNREACHABLE_S="0",
    )  # fmt: skip
    assert done.returncode == 3
    assert "127.0.0.1:9" in done.stdout + done.stderr


def test_without_a_sandbox_it_ends_with_status_4_and_says_what_to_install(repo: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "python3"):
        found = next(folder for folder in os.environ["PATH"].split(":") if Path(folder, name).exists())
        (programs / name).symlink_to(Path(found, name))
    arguments = ("fix", str(repo), "--issue", "x", "--model", "manual", "--python", sys.executable)
    done = cli(*arguments, cwd=tmp_path, path=str(programs))
    assert done.returncode == 4, done.stderr
    assert "apt-get install bubblewrap" in done.stderr


def test_uncommitted_changes_are_refused_unless_they_shall_be_repaired(repo: Path, tmp_path: Path) -> None:
    (repo / "toy" / "stats.py").write_text(toy.STATS + "\nextra = 1\n")
    done = cli("fix", str(repo), "--issue", "x", "--model", "manual", cwd=tmp_path)
    assert done.returncode == 2
    assert "--include-dirty" in done.stderr


def test_json_is_the_result_and_nothing_else_on_standard_output(repo: Path, tmp_path: Path) -> None:
    def reply(asked: Asked) -> Answer:
        return Answer(toy.reply_to(asked.text))

    with StubProvider(reply) as stub:
        done = cli(
            "fix", str(repo), "--issue", "-", "--model", "openai:stub", "--base-url", f"{stub.url}/v1", "--json",
            "--python", sys.executable, cwd=tmp_path, given=toy.ISSUE.encode(), OPENAI_API_KEY="k",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "repaired"
    assert (tmp_path / "experepair-out" / ".gitignore").read_text() == "*\n"
    assert "sk-" not in done.stdout


def test_a_model_for_people_who_only_have_a_chat_window(repo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "experepair", "fix", str(repo), "--issue", toy.ISSUE, "--model", "manual",
         "--out", str(out), "--python", sys.executable],
        env={**os.environ, "XDG_CACHE_HOME": f"{tmp_path}/cache", "XDG_CONFIG_HOME": f"{tmp_path}/config"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None:
        for prompt in (out / "manual").glob("*.prompt.md"):
            reply = prompt.with_name(prompt.name.replace("prompt", "reply"))
            if not reply.exists():
                written = prompt.with_suffix(".tmp")
                written.write_text(toy.reply_to(prompt.read_text()))
                written.rename(reply)
    assert process.returncode == 0


def test_localize_ranks_files_with_their_evidence(repo: Path, tmp_path: Path) -> None:
    shown = cli("localize", str(repo), "--issue", toy.ISSUE, cwd=tmp_path, COLUMNS="200").stdout
    assert shown.index("toy/stats.py") < shown.index("Confidence: ")
    ranking = json.loads(
        cli("localize", str(repo), "--issue", toy.ISSUE, "--json", "--top", "1", cwd=tmp_path).stdout
    )
    assert [file["path"] for file in ranking["files"]] == ["toy/stats.py"]
    assert ranking["files"][0]["evidence"]


def test_doctor_says_what_works_and_what_to_do_about_the_rest(repo: Path, tmp_path: Path) -> None:
    done = cli("doctor", str(repo), "--json", cwd=tmp_path)
    findings = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert done.returncode == 0
    assert "network cut" in findings["sandbox: bubblewrap"]["found"]
    assert "2 of 2 tests" in findings["existing tests"]["found"]
    assert "sentinel" in findings["imports the tree"]["found"]
    assert "--model" in findings["model"]["found"]


@pytest.mark.parametrize(
    "setting",
    [
        'base_url = "http://evil.example"',
        'price = "0/0"',
        'sandbox = "none"',
        "max_cost = 9e9",
        'memory = "x.db"',
    ],
)
def test_a_repositorys_own_settings_cannot_say_who_gets_the_key_and_what_is_spent(
    repo: Path, tmp_path: Path, setting: str
) -> None:
    (repo / "experepair.toml").write_text(f"{setting}\n")
    toy.git(repo, "add", "experepair.toml")
    toy.git(repo, "commit", "--quiet", "--message=settings")
    done = cli("fix", str(repo), "--issue", "x", "--model", "openai:m", cwd=tmp_path, OPENAI_API_KEY="k")
    assert done.returncode == 2
    assert setting.split()[0] in done.stderr


def test_flags_win_over_the_environment_over_the_repository_over_the_users_file(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experepair.session.settings import load

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "experepair" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('model = "user:m"\ntest_command = "user {files}"\nmax_output_tokens = 1\nprice = "1/1"\n')
    (repo / "experepair.toml").write_text(
        'model = "repo:m"\ntest_command = "repo {files}"\nmax_output_tokens = 2\n'
    )
    monkeypatch.setenv("EXPEREPAIR_MODEL", "env:m")
    monkeypatch.setenv("EXPEREPAIR_MAX_OUTPUT_TOKENS", "3")
    settings = load(repo, {"model": "flag:m", "test_command": None})
    assert (settings.model, settings.max_output_tokens) == ("flag:m", 3)
    assert (settings.test_command, settings.price) == ("repo {files}", "1/1")


def test_a_prompt_left_unanswered_is_taken_up_with_its_reply_after_resume(tmp_path: Path) -> None:
    import asyncio

    from experepair.domain.roles import Role
    from experepair.llm.manual import ManualModel
    from experepair.llm.request import Part, Prompt, Request

    request = Request(Role.JUDGE, Prompt("Be brief.", (Part("task", "Yes or no?"),)))

    async def interrupted() -> None:
        waiting = asyncio.create_task(ManualModel(tmp_path, poll_s=0.01).reply(request))
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(interrupted())
    (tmp_path / "0001.reply.md").write_text("yes")
    assert asyncio.run(ManualModel(tmp_path, poll_s=0.01).reply(request)).text == "yes"
    assert not (tmp_path / "0002.prompt.md").exists()


def test_the_users_own_pytest_does_not_collect_the_results_and_the_kept_test_runs_alone(
    repo: Path, tmp_path: Path
) -> None:
    def reply(asked: Asked) -> Answer:
        return Answer(toy.reply_to(asked.text))

    with StubProvider(reply) as stub:
        done = cli(
            "fix", ".", "--issue", toy.ISSUE, "--model", "openai:stub", "--base-url", f"{stub.url}/v1",
            "--python", sys.executable, cwd=repo, OPENAI_API_KEY="k", XDG_CACHE_HOME=str(tmp_path / "cache"),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (out,) = (repo / "experepair-out").glob("*/reproduce_test.py")
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=repo, capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert "2 passed" in collected.stdout, collected.stdout
    alone = [sys.executable, str(out.relative_to(repo))]
    assert subprocess.run(alone, cwd=repo, check=False, capture_output=True).returncode == 1
    toy.git(repo, "apply", str(out.parent / "patch.diff"))
    assert subprocess.run(alone, cwd=repo, check=False, capture_output=True).returncode == 0


def test_doctor_calls_a_model_that_was_asked_for_and_cannot_be_used_bad(tmp_path: Path) -> None:
    assert cli("doctor", "--model", "nobody:model", cwd=tmp_path).returncode == 2
    assert cli("doctor", cwd=tmp_path).returncode == 0


def test_doctor_ends_with_4_where_the_sandbox_that_a_repair_would_take_does_not_work(tmp_path: Path) -> None:
    assert cli("doctor", cwd=tmp_path, path="/nowhere").returncode == 4
    done = cli("doctor", "--json", "--image", "some/image", cwd=tmp_path, path="/nowhere")
    assert done.returncode == 4
    states = {one["what"]: one["state"] for one in json.loads(done.stdout)["findings"]}
    assert (states["sandbox: docker"], states["sandbox: bubblewrap"]) == ("bad", "note")

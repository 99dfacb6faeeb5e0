"""Settings of a repair: flags over EXPEREPAIR_* over experepair.toml in the repository over the user's file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from experepair.domain.roles import Role
from experepair.domain.text import visible
from experepair.errors import UsageError
from experepair.folders import config_folder
from experepair.llm.config import ModelConfig, ModelsConfig, Price, RetryPolicy, Sampling
from experepair.memory.config import LearnConfig, RecallConfig
from experepair.memory.learn.worth import MiningConfig
from experepair.sandbox.open import Kind
from experepair.sandbox.sandbox import Limits
from experepair.session.profiles import DEFAULT, profile_settings
from experepair.steps.config import RepairConfig
from experepair.testing.runners.given import Given

SETUP_LIMITS = Limits(time_s=1800, processes=1024, disk_mb=4096, memory_mb=0, output_kb=512)
"""What a set-up may use, unless the user says otherwise."""

REPOSITORY_FILE = "experepair.toml"
"""Settings that a repository brings with it."""


class Settings(BaseSettings):
    """What a repair is told, beside the repository and the issue."""

    model_config = SettingsConfigDict(
        env_prefix="EXPEREPAIR_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    model: str = ""
    """Serves every role: "provider:name", or "manual"."""
    models: dict[Role, str] = {}
    """Models of single roles, by role."""
    temperatures: dict[Role, float] = {}
    """0 to 2, by role; roles left out keep their default."""
    base_url: str | None = None
    """Where an API compatible with the provider's is served, for every model of the run."""
    price: str | None = None
    """"IN/OUT" in US dollars per million tokens, for models that the price table doesn't know."""
    max_output_tokens: int = Field(default=0, ge=0)
    """Most tokens of a reply; 0 means a default that fits the model."""
    context_window: int = Field(default=0, ge=0)
    """Most tokens of prompt and reply together; 0 means what is known of the model."""
    sampling: Sampling = Sampling.PARALLEL
    """Whether the samples of a prompt are asked for all at once, or the first alone to fill the cache."""
    max_cost: float | None = Field(default=None, ge=0)
    """Cap on the cost of the run in US dollars."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Cap on the tokens of the run, prompts and replies together; with none at all no model could be asked."""
    sandbox: Kind = Kind.AUTO
    """What isolates the executions."""
    python: str | None = None
    """Interpreter that the scripts and tests run on."""
    rootfs: Path | None = None
    """Root file system that the commands run in, instead of this machine's."""
    image: str | None = None
    """Image of docker or podman that holds the repository's environment; the commands run in it."""
    image_workdir: str | None = None
    """Where the repository is in the image; None looks for it."""
    mount_at: Path | None = None
    """Where commands see the repository; None means where it is. For environments into which it is installed from there."""
    variables: dict[str, str] = {}
    """Environment variables of every command."""
    setup: str | None = None
    """Command that makes the checkout ready, run once a commit and environment in the sandbox."""
    setup_network: bool = False
    """Whether the set-up, and nothing else, reaches the network."""
    setup_limits: Limits = SETUP_LIMITS
    """What the set-up may use."""
    build_products: bool = False
    """Whether untracked build products of the checkout are laid under the private tree."""
    preflight: bool = True
    """Whether a repair is refused when tests wouldn't import the private tree; False notes it only."""
    test_command: str | None = None
    """How existing tests are run, with {files} where the test files go."""
    max_parallel: int = Field(default=0, ge=0)
    """Executions at once; 0 means the number of processors."""
    memory: str = ""
    """Where memory is kept: a file, sqlite:///PATH, postgresql://…, or "none"; "" means the user's data folder."""
    no_recall: bool = False
    """Remember nothing, but learn."""
    no_learn: bool = False
    """Recall, but learn nothing."""
    trusted_authors: tuple[str, ...] = ()
    """Whose issues are trusted when the author is given; what others' issues teach waits to be accepted."""
    recall: RecallConfig = RecallConfig()
    learn: LearnConfig = LearnConfig()
    mining: MiningConfig = MiningConfig()
    retry: RetryPolicy = RetryPolicy()
    limits: Limits = Limits()
    repair: RepairConfig = RepairConfig()

    @field_validator("test_command")
    @classmethod
    def _has_a_place_for_files(cls, command: str | None) -> str | None:
        """Refused before anything is done: all tests would be run for each patch."""
        if command and command.strip():
            try:
                Given(command)
            except UsageError as error:
                raise ValueError(str(error)) from error
        return command

    from_a_repository: ClassVar[tuple[str, ...]] = (
        "model", "models", "temperatures", "sampling", "max_output_tokens", "context_window", "test_command", "repair",
        "trusted_authors",
    )  # fmt: skip
    """What a repository's own file may say. It may be hostile: who gets the key, what runs where, and what may be
    spent is the user's to say."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment; the files are put below these by `load`."""
        del dotenv_settings, file_secret_settings
        files = getattr(cls, "_files", ())
        profile = getattr(cls, "_profile", {})
        return (
            init_settings,
            _Values(settings_cls, profile),
            env_settings,
            *(_Values(settings_cls, values) for values in files),
        )

    def models_config(self) -> ModelsConfig:
        """What the model port needs of these settings.

        Raises:
            UsageError: no model is named, or a price can't be read.
        """
        if not self.model and set(self.models) | {Role.SUMMARIZE} != set(Role):
            raise UsageError(
                "no model is named; say which: --model PROVIDER:NAME (for example anthropic:claude-sonnet-4-5, "
                "openai:gpt-5, or manual), or set EXPEREPAIR_MODEL"
            )
        price = Price.parse(self.price) if self.price else None
        return ModelsConfig(
            default=self._model(self.model or next(iter(self.models.values())), price),
            roles={role: self._model(name, price) for role, name in self.models.items()},
            temperatures={**ModelsConfig.model_fields["temperatures"].default, **self.temperatures},
            sampling=self.sampling,
            retry=self.retry,
            max_cost_usd=self.max_cost,
            max_tokens=self.max_tokens,
        )

    def replayed_config(self) -> ModelsConfig:
        """The same for a run that a journal or a script answers: no model need be named."""
        named = self if self.model else self.model_copy(update={"model": "replay:journal"})
        return named.models_config()

    def _model(self, name: str, price: Price | None) -> ModelConfig:
        return ModelConfig(
            name=name,
            base_url=self.base_url,
            max_output_tokens=self.max_output_tokens,
            context_window=self.context_window,
            price=price,
        )


class _Values(PydanticBaseSettingsSource):
    """Values that were read from a file."""

    def __init__(self, settings_cls: type[BaseSettings], values: Mapping[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = dict(values)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """The file's value of one field."""
        del field
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        """All of them."""
        return self._values


def load(repository: Path | None, flags: Mapping[str, Any], profile: str = DEFAULT) -> Settings:
    """Read all sources; flags that are None or empty count as not given.

    Args:
        repository: folder of the repository under repair, whose file is read if there is one.
        flags: by field.
        profile: name of a set of settings that stands below the flags, above all else.

    Raises:
        UsageError: a source can't be read, or holds what it may not.
    """
    files = [_read(user_file(), own=True)]
    if repository is not None:
        files.insert(0, _read(repository / REPOSITORY_FILE, own=False))
    given = {name: value for name, value in flags.items() if value is not None and value != {}}

    class _Sourced(Settings):
        _files: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(files)
        _profile: ClassVar[Mapping[str, Any]] = profile_settings(profile)

    try:
        return _Sourced(**given)
    except ValidationError as error:
        raise UsageError(_explain(error)) from error


def user_file() -> Path:
    """Where the user's own settings are."""
    return config_folder() / "config.toml"


def _read(path: Path, *, own: bool) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"can't read the settings in {str(path)!r}: {error}") from error
    if not own and (refused := [name for name in values if name not in Settings.from_a_repository]):
        raise UsageError(
            f"{str(path)!r} sets {', '.join(refused)}, which a repository may not; "
            f"put it into {str(user_file())!r} or give the flag"
        )
    return values


def _explain(error: ValidationError) -> str:
    said = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"] if part != "[key]")
        value = visible(repr(fault["input"]))[:80]
        known = _SAID.get(fault["type"])
        own = fault["msg"].removeprefix("Value error, ")
        told = known.format(**fault.get("ctx", {})) if known else own
        said.append(f"the setting {name!r} can't be {value}: {told}")
    return "; ".join(said)


_SAID = {
    "extra_forbidden": "there is no such setting; docs/cli.md names them all",
    "enum": "it is one of {expected}",
    "greater_than": "it must be more than {gt:g}",
    "greater_than_equal": "it must be {ge:g} or more",
    "less_than": "it must be less than {lt:g}",
    "less_than_equal": "it must be {le:g} or less",
    "int_parsing": "it must be a whole number",
    "int_type": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_parsing": "it must be a number",
    "float_type": "it must be a number",
    "finite_number": "it must be a number",
    "bool_parsing": "it must be true or false",
    "bool_type": "it must be true or false",
    "string_type": "it must be a text",
    "path_type": "it must be a path",
    "dict_type": "it must be a table",
    "model_type": "it must be a table",
    "missing": "it must be given",
}
"""What kinds of faults mean, in the user's words; for a kind that isn't here the validator's own words stand."""

"""Settings: flags > environment > `.env` > `config.toml` > defaults, each documented once, where it is defined.

A secret goes only to an endpoint that is the default or that a source of the same or a higher rank has set: a `.env`
lying in a cloned folder cannot point a key of the environment at another host.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from tui_agent.request import UsageError
from tui_agent.settings_kinds import (
    LANGUAGE,
    MODEL,
    PROFILE,
    SECRET,
    SWITCH,
    THEME,
    URL,
    Kind,
    read_url,
    seconds,
    whole,
)
from tui_agent.settings_profiles import (
    KEY_NAMES,
    NO_KEY,
    Profile,
    all_profiles,
    applied,
    choose,
    is_led_away,
    is_paired,
)
from tui_agent.settings_sources import RANKS, Config, Found, bad_value, read_config, read_env_file

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["APP_NAME", "Documented", "Settings", "UsageError", "default_config_file", "documented", "env_example"]

APP_NAME = "repo-agent-tui"
DEFAULT_MODEL = "deepseek-flash"
DEFAULT_URL = "https://api.deepseek.com"
MODEL_ALIASES = {"deepseek-v4-flash": DEFAULT_MODEL}
DEEPSEEK_CONTEXT = 1_000_000
OTHER_CONTEXT = 128_000
# Which secret is sent to which endpoint.
SENT_TO = {"api_key": "base_url", "github_token": "github_api_url"}


def _setting(
    default: Any,
    kind: Kind,
    env: str,
    about: str,
    *,
    other: str | None = None,
    flag: str | None = None,
    shown: str = "",
) -> Any:
    """A field of `Settings` with its documentation.

    Args:
        default: the value where no source has one.
        kind: what the value must be.
        env: the variable that sets it.
        about: one line for `--help`, `.env.example` and the README.
        other: a second name of the variable, which counts where the first is unset.
        flag: the option that sets it.
        shown: the default in words, where its value says too little.
    """
    names = (env, other) if other else (env,)
    metadata = {"env": names, "help": about, "kind": kind, "flag": flag, "shown": shown}
    return field(default=default, repr=kind is not SECRET, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set. `Settings()` holds the defaults.

    Raises:
        UsageError: a value is out of its range; the sentence names the variable.
    """

    # fmt: off
    api_key: str | None = _setting(
        None, SECRET, "API_KEY", "the LLM's key; without one the built-in survey does the work",
        other="DEEPSEEK_API_KEY")
    github_token: str | None = _setting(
        None, SECRET, "GITHUB_TOKEN", "GitHub's token, optional; 60 requests an hour without, 5,000 with",
        other="GH_TOKEN")
    github_api_url: str = _setting(
        "https://api.github.com", URL, "GITHUB_API_URL",
        "where GitHub is asked; also GitHub Enterprise Server's https://HOST/api/v3")
    profile: str | None = _setting(
        None, PROFILE, "REPO_AGENT_PROFILE",
        "endpoint, model and key by one name: deepseek, ollama, vllm, lmstudio, llamacpp, openrouter, openai, local, "
        "or one of your own in config.toml", flag="--profile", shown="no profile")
    base_url: str = _setting(
        DEFAULT_URL, URL, "REPO_AGENT_BASE_URL",
        "the LLM's endpoint, any OpenAI-compatible one, without /chat/completions", flag="--base-url")
    model: str = _setting(
        DEFAULT_MODEL, MODEL, "REPO_AGENT_MODEL",
        "the LLM; deepseek-v4-flash, the default's old name, works too", flag="--model")
    max_turns: int = _setting(
        15, whole(1), "REPO_AGENT_MAX_TURNS", "turns of the loop before the report is due", flag="--max-turns")
    context_tokens: int | None = _setting(
        None, whole(1), "REPO_AGENT_CONTEXT_TOKENS", "the model's context window in tokens; the loop stays inside it",
        shown="the model's: 1000000 for DeepSeek, else 128000")
    max_retries: int = _setting(
        3, whole(0, 100), "REPO_AGENT_MAX_RETRIES", "retries after the first attempt")
    base_delay: float = _setting(
        0.5, seconds(zero=True), "REPO_AGENT_BASE_DELAY",
        "seconds before the first retry; each further one waits twice as long")
    max_delay: float = _setting(
        8.0, seconds(zero=True), "REPO_AGENT_MAX_DELAY",
        "seconds before a retry at most; up to 30 % jitter comes on top")
    breaker_threshold: int = _setting(
        5, whole(1), "REPO_AGENT_BREAKER_THRESHOLD", "consecutive failures that open a circuit breaker")
    breaker_reset: float = _setting(
        30.0, seconds(zero=False), "REPO_AGENT_BREAKER_RESET", "seconds until an open breaker admits a probe")
    request_timeout: float = _setting(
        15.0, seconds(zero=False), "REPO_AGENT_REQUEST_TIMEOUT", "seconds for one GitHub attempt")
    llm_timeout: float = _setting(
        120.0, seconds(zero=False), "REPO_AGENT_LLM_TIMEOUT",
        "seconds without payload once payload has begun, or without any byte before")
    llm_queue_timeout: float = _setting(
        600.0, seconds(zero=False), "REPO_AGENT_LLM_QUEUE_TIMEOUT", "seconds that keep-alives alone are tolerated")
    max_rate_wait: float = _setting(
        90.0, seconds(zero=True), "REPO_AGENT_MAX_RATE_WAIT", "seconds that one call may wait for rate limits in all")
    max_tokens: int | None = _setting(
        None, whole(1), "REPO_AGENT_MAX_TOKENS", "tokens a run may spend, in and out together",
        flag="--max-tokens", shown="no bound")
    record: bool = _setting(
        True, SWITCH, "REPO_AGENT_RECORD", "0: nothing of a run is kept on disk", flag="--no-record", shown="1")
    lang: str | None = _setting(
        None, LANGUAGE, "REPO_AGENT_LANG", "the language of the interface and of reports, such as en or zh",
        flag="--lang", shown="the locale's; for reports the question's")
    theme: str | None = _setting(
        None, THEME, "REPO_AGENT_THEME", "the dashboard's theme, one of Textual's", shown="the dashboard's own")
    # fmt: on
    # The source of each field that some source has set.
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    # The same without the profiles: what has chosen the profile, or holds the variable of its key.
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    # What `profile` names, put to use by `load`.
    chosen: Profile | None = field(default=None, repr=False, compare=False)
    # `[keys]` of `config.toml`: the dashboard's keys by what they do.
    keys: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    _named: ClassVar[frozenset[str]] = frozenset()

    def __new__(cls, **values: object) -> Self:
        """Remembers what is named, so that naming a default is more than saying nothing."""
        settings = super().__new__(cls)
        # `load` and `dataclasses.replace` name every field, and hand on where each came from.
        object.__setattr__(settings, "_named", frozenset() if "origins" in values else frozenset(values))
        return settings

    def __post_init__(self) -> None:
        if not self.origins and self._named:
            object.__setattr__(self, "origins", dict.fromkeys(self._named, "code"))
        for spec in _specs():
            value, kind = getattr(self, spec.name), spec.metadata["kind"]
            if value is None and spec.default is None:
                continue
            if not kind.holds(value):
                raise bad_value(spec.metadata["env"][0], kind, str(value))
            if kind is URL:
                object.__setattr__(self, spec.name, read_url(value))
        object.__setattr__(self, "model", MODEL_ALIASES.get(self.model, self.model))

    @classmethod
    def load(
        cls,
        flags: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        env_file: Path | None = None,
        config_file: Path | None = None,
    ) -> Settings:
        """The settings of one process. In every source but the flags an empty value counts as unset.

        Args:
            flags: what the command line says, by field name, as text.
            environ: the environment.
            cwd: the folder whose `.env` is read, where it is a file; None for no such folder.
            env_file: read instead of that `.env`, and has to exist.
            config_file: TOML with the fields' names (or the variables') as keys, read where it exists.

        Raises:
            UsageError: a bad value, an unreadable file, or a secret that would go to an endpoint of lower rank.
        """
        specs = {spec.name: spec for spec in _specs()}
        found: dict[str, Found] = {}
        for name, text in (flags or {}).items():
            option = specs[name].metadata["flag"] or name
            if not text.strip():
                raise UsageError(f"{option} needs a value.")
            found[name] = Found(option, "command line", text.strip())
        variables = {name: spec.metadata["env"] for name, spec in specs.items()}
        _add(found, "environment", environ or {}, variables)
        ours = [name for names in variables.values() for name in names]
        env_texts = read_env_file(cwd, env_file, ours)
        _add(found, ".env", env_texts, variables)
        config = Config({}, {})
        if config_file is not None:
            spellings = {name: (name, *names) for name, names in variables.items()}
            kinds = {key: specs[name].metadata["kind"] for name, names in spellings.items() for key in names}
            config = read_config(config_file, kinds)
            _add(found, "config.toml", config.texts, spellings)
        profiles = all_profiles(config.tables.get("profiles", {}))
        profile = None
        if (chosen := found.get("profile")) is not None:
            profile = choose(profiles, chosen)

            def variable(name: str) -> Found | None:
                for source, texts in (("environment", environ or {}), (".env", env_texts)):
                    if text := (texts.get(name) or "").strip():
                        return Found(name, source, text)
                return None

            found = applied(found, profile, chosen, variable)
        values = {name: one.value(specs[name].metadata["kind"]) for name, one in found.items()}
        origins = {name: one.origin for name, one in found.items()}
        sources = {name: one.source for name, one in found.items()}
        keys = config.tables.get("keys", {})
        settings = cls(**values, origins=origins, sources=sources, chosen=profile, keys=keys)
        settings._keep_secrets_at_home(found)
        return settings

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """The settings that environment variables alone give, as `run_agent` reads them; UsageError as in `load`."""
        return cls.load(environ=environ)

    def origin(self, name: str) -> str:
        """The source of a field: one of `RANKS`, "profile NAME", or "code" where a program has set it."""
        if name in self.origins:
            return self.origins[name]
        return RANKS[0] if getattr(self, name) == getattr(type(self), name) else "code"

    def source(self, name: str) -> str:
        """The source of a field, as `origin`; of what a profile has set, the source that has chosen the profile.

        Of a profile's key it is where its variable stands.
        """
        return self.sources.get(name) or self.origin(name)

    def is_said(self, name: str) -> bool:
        """Whether a source, or the program that made these settings, has set the field, if only to its default."""
        return name in self.origins

    @property
    def context_limit(self) -> int:
        """Tokens of the model's window: as set, else by the model's name and host."""
        return self.context_tokens or context_of(self.model, self.base_url)

    @property
    def has_key(self) -> bool:
        """Whether there is a key, and not only what a server that wants none is sent in its place."""
        return self.api_key not in (None, NO_KEY)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The variables that would set the key."""
        named = self.chosen.key_env if self.chosen else None
        return KEY_NAMES if named is None or named in KEY_NAMES else (named,)

    @property
    def key_wanted(self) -> str:
        """What to do for a key, as the end of a sentence."""
        name, *others = self.key_names
        return f"set {name} (or {others[0]})" if others else f"set {name}"

    @property
    def quirks(self) -> frozenset[str]:
        """What the model's server wants otherwise than most (`settings_profiles.QUIRKS`)."""
        return self.chosen.quirks if self.chosen else frozenset()

    def _keep_secrets_at_home(self, found: Mapping[str, Found]) -> None:
        """Refuse to send a secret to an endpoint that a source of lower rank has set."""
        for key, address in SENT_TO.items():
            secret, endpoint = found.get(key), found.get(address)
            if secret is None or endpoint is None or secret.text == NO_KEY or is_paired(secret, endpoint):
                continue
            # The default is DeepSeek's, and a home for its keys alone.
            usual = key != "api_key" or not secret.profile or secret.name in KEY_NAMES
            if usual and getattr(self, address) == getattr(type(self), address):
                continue
            if endpoint.rank < secret.rank or is_led_away(secret, endpoint):
                raise UsageError(
                    f"{endpoint.label} would send {secret.label} to another host: a key goes only to the default "
                    f"endpoint or to one set in the same place or a higher one. Set {endpoint.name} there, or unset it."
                )


class Documented(NamedTuple):
    """One setting's documentation, for `--help`, `.env.example` and the README; `default` is "" where none is."""

    field: str
    names: tuple[str, ...]
    default: str
    help: str
    flag: str | None
    secret: bool


def documented() -> tuple[Documented, ...]:
    """Every setting's documentation, in the order of the fields."""
    every = []
    for spec in _specs():
        about = spec.metadata
        default = about["shown"] or ("" if spec.default is None else str(spec.default))
        every.append(
            Documented(spec.name, about["env"], default, about["help"], about["flag"], about["kind"] is SECRET)
        )
    return tuple(every)


def env_example() -> str:
    """The text of `.env.example`: each variable with its line of documentation."""
    lines = [
        "# Settings of repo-agent-tui: copy this file to `.env` in the folder you work in, or name it with --env-file.",
        "# Flags beat the environment, that beats `.env`, that beats `config.toml` in your config folder.",
        "# An empty value counts as unset. A key goes only to the default endpoint, or to one that is set in the same",
        "# place or a higher one.",
    ]
    for setting in documented():
        name, *others = setting.names
        also = "".join(f"; {other} works too" for other in others)
        # A default in words is no value: it stands in the remark.
        words = " " in setting.default
        default = f" (default: {setting.default})" if words else ""
        value = "" if words else setting.default
        about = setting.help[0].upper() + setting.help[1:]
        lines += ["", f"# {about}{also}{default}", f"{'' if setting.secret else '# '}{name}={value}"]
    return "\n".join(lines) + "\n"


def context_of(model: str, base_url: str = DEFAULT_URL) -> int:
    """The context window of a model in tokens, by its name and where it is asked.

    DeepSeek's own service has 1,000,000; its models as others run them do not.
    """
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    own = f".{host}".endswith(".deepseek.com") and model.lower().startswith("deepseek")
    return DEEPSEEK_CONTEXT if own else OTHER_CONTEXT


def default_config_file() -> Path:
    """Where the user's `config.toml` is looked for."""
    # 30 ms that a run pays, and `--help` does not.
    from platformdirs import user_config_path

    return user_config_path(APP_NAME, appauthor=False) / "config.toml"


def _specs() -> list[dataclasses.Field[Any]]:
    return [spec for spec in dataclasses.fields(Settings) if "env" in spec.metadata]


def _add(
    found: dict[str, Found], source: str, texts: Mapping[str, str | None], names: Mapping[str, tuple[str, ...]]
) -> None:
    """Take from a source what no higher one has set, under the first name that is set."""
    for setting, spellings in names.items():
        if setting in found:
            continue
        for name in spellings:
            text = (texts.get(name) or "").strip()
            if text:
                found[setting] = Found(name, source, text)
                break

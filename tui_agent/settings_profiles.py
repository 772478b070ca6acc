"""Named profiles of models: where a model is asked, under which name, with which key, and what its server wants.

A profile's values rank as the source that chose the profile, below explicit ones of the same or a higher source. With
a profile the key is the profile's own: the variable that it names, and none where it names none.

Sources: Ollama's, vLLM's, LM Studio's, llama.cpp's, OpenRouter's and OpenAI's documentation of their endpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tui_agent.request import UsageError
from tui_agent.settings_kinds import MODEL, PROFILE, SECRET, URL, VARIABLE, Kind, whole
from tui_agent.settings_sources import Found, bad_value, shown

NO_KEY = "no-key-needed"
"""Sent to a server that wants no key: the client insists on one."""
KEY_NAMES = ("API_KEY", "DEEPSEEK_API_KEY")
QUIRKS = {
    "no_usage": "the server does not know stream_options; nothing is asked for that tells the tokens of a turn",
    "no_reasoning_echo": "what the model has thought is not sent back to it",
    "max_completion_tokens": "the bound on an answer is called max_completion_tokens, not max_tokens",
}


class Profile(NamedTuple):
    """One way to a model.

    Args:
        name: as it is chosen.
        base_url: the endpoint.
        model: its name there.
        key_env: the variable that holds its key; None where there is none.
        is_local: a server on this machine: it does without a key, and its window is its own, whatever the model.
        context_tokens: the window to stay inside; None for what is known of the model.
        quirks: names of `QUIRKS`.
        api_key: a key that stands in the profile itself.
    """

    name: str
    base_url: str
    model: str
    key_env: str | None = None
    is_local: bool = False
    context_tokens: int | None = None
    quirks: frozenset[str] = frozenset()
    api_key: str | None = None

    @property
    def needs_key(self) -> bool:
        """Whether it is of no use without a key."""
        return self.key_env is not None and not self.is_local


# Servers at home are started with a window of their own; this much the recipes of the README give them.
_HOME_WINDOW = 32_768
_HOME_QUIRKS = frozenset({"no_reasoning_echo"})
BUILT_IN: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("deepseek", "https://api.deepseek.com", "deepseek-flash", "API_KEY"),
        Profile("ollama", "http://localhost:11434/v1", "qwen3:8b", None, True, _HOME_WINDOW),
        Profile("vllm", "http://localhost:8000/v1", "Qwen/Qwen3-8B", "VLLM_API_KEY", True, _HOME_WINDOW, _HOME_QUIRKS),
        Profile(
            "lmstudio", "http://localhost:1234/v1", "qwen/qwen3-8b", "LM_API_TOKEN", True, _HOME_WINDOW, _HOME_QUIRKS
        ),
        Profile("llamacpp", "http://localhost:8080/v1", "default", "LLAMA_API_KEY", True, _HOME_WINDOW, _HOME_QUIRKS),
        Profile("openrouter", "https://openrouter.ai/api/v1", "openrouter/auto", "OPENROUTER_API_KEY"),
        Profile(
            "openai",
            "https://api.openai.com/v1",
            "gpt-5-mini",
            "OPENAI_API_KEY",
            context_tokens=272_000,
            quirks=frozenset({"max_completion_tokens"}),
        ),
    )
}
LOCAL = "local"
"""Ollama's profile by another name, until the user's own is called so."""
_KINDS: Mapping[str, Kind] = {
    "base_url": URL,
    "model": MODEL,
    "key_env": VARIABLE,
    "api_key": SECRET,
    "context_tokens": whole(1),
}
_MUST_QUIRKS = "a list of " + ", ".join(f'"{name}"' for name in QUIRKS)


def all_profiles(table: Mapping[str, Any]) -> dict[str, Profile]:
    """The built-in profiles and the user's own, which may change a built-in one in part.

    Args:
        table: `[profiles]` of `config.toml`.

    Raises:
        UsageError: a profile there cannot be understood.
    """
    profiles = {**BUILT_IN, LOCAL: BUILT_IN["ollama"]._replace(name=LOCAL)}
    for name, values in table.items():
        place = f"profiles.{shown(name, 60)}"
        if not PROFILE.holds(name):
            raise UsageError(f"{place} (in config.toml): the name must be {PROFILE.must}.")
        if not isinstance(values, Mapping):
            raise UsageError(f"{place} (in config.toml) must be a table: [profiles.{shown(name, 60)}].")
        read = {key: _read(f"{place}.{shown(key, 60)} (in config.toml)", key, value) for key, value in values.items()}
        base = BUILT_IN.get(name)
        if base is None and (missing := {"base_url", "model"} - set(read)):
            raise UsageError(f"{place} (in config.toml) needs {' and '.join(sorted(missing))}.")
        profiles[name] = base._replace(**read) if base else Profile(name, **read)
    return profiles


def _read(label: str, key: str, value: object) -> Any:
    if key == "quirks":
        if not isinstance(value, list) or not all(isinstance(one, str) and one in QUIRKS for one in value):
            raise UsageError(f"{label} must be {_MUST_QUIRKS}.")
        return frozenset(value)
    kind = _KINDS.get(key)
    if kind is None:
        raise UsageError(f"{label} means nothing; a profile has {', '.join((*_KINDS, 'quirks'))}.")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"{label} must be {kind.must}.")
    return Found(label, "command line", str(value)).value(kind)


def choose(profiles: Mapping[str, Profile], chosen: Found) -> Profile:
    """The profile of a name.

    Raises:
        UsageError: there is none; the sentence names those that there are.
    """
    if not PROFILE.holds(chosen.text):
        raise bad_value(chosen.label, PROFILE, chosen.text)
    if chosen.text not in profiles:
        names = ", ".join(sorted(profiles))
        raise UsageError(f"{chosen.label}: there is no profile {shown(chosen.text, 40)!r}; there are {names}.")
    return profiles[chosen.text]


def applied(
    found: Mapping[str, Found], profile: Profile, chosen: Found, variable: Callable[[str], Found | None]
) -> dict[str, Found]:
    """What holds with a profile.

    Args:
        found: what is said explicitly, by field.
        profile: the one that was chosen.
        chosen: what chose it.
        variable: finds a variable of the environment or of `.env`.
    """
    result = dict(found)

    def offer(field: str, value: object) -> bool:
        explicit = found.get(field)
        if explicit is not None and explicit.rank >= chosen.rank:
            return False
        result[field] = Found(chosen.name, chosen.source, str(value), profile.name)
        return True

    offer("base_url", profile.base_url)
    own_model = offer("model", profile.model)
    if profile.context_tokens is not None and (own_model or profile.is_local):
        offer("context_tokens", profile.context_tokens)
    key = _key(found, profile, chosen, variable)
    result.pop("api_key", None)
    if key is not None:
        result["api_key"] = key._replace(profile=profile.name)
    return result


def _key(
    found: Mapping[str, Found], profile: Profile, chosen: Found, variable: Callable[[str], Found | None]
) -> Found | None:
    """The profile's key, with where it stands."""
    if profile.key_env in KEY_NAMES and "api_key" in found:
        return found["api_key"]
    key = variable(profile.key_env) if profile.key_env else None
    if key is not None:
        return key
    if profile.api_key is not None:
        return Found(f"profiles.{profile.name}.api_key", "config.toml", profile.api_key)
    return None if profile.needs_key else Found(chosen.name, chosen.source, NO_KEY)


def is_paired(secret: Found, endpoint: Found) -> bool:
    """Whether a key and an endpoint are a profile's own, put together by this program or by the user's `config.toml`.

    Then the key may stand in the environment, whichever of the user's own sources has chosen the profile. A `.env`,
    which may lie in a cloned folder, chooses no place for a key of the environment.
    """
    return bool(secret.profile) and secret.profile == endpoint.profile and endpoint.source != ".env"


def is_led_away(secret: Found, endpoint: Found) -> bool:
    """Whether a `.env`, which outranks `config.toml`, would send a profile's key elsewhere than the profile does."""
    return bool(secret.profile) and not endpoint.profile and endpoint.source == ".env" != secret.source

"""Profiles of models: what one name stands for, which value counts beside it, and where a key may go with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.servers.expect import FILES, FINAL, read, servers
from tests.servers.github import GitHubServer
from tests.servers.inside import Heard
from tests.servers.model import ModelServer
from tests.servers.turns import think
from tests.test_settings import load
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings, UsageError
from tui_agent.settings_profiles import BUILT_IN, NO_KEY, QUIRKS, Profile, all_profiles

OWN = '[profiles.work]\nbase_url = "https://llm.work.example/v1"\nmodel = "big"\nkey_env = "WORK_KEY"\n'
EVIL = "https://evil.example"


def test_the_named_profiles_are_there_and_use_only_quirks_that_are_known() -> None:
    names = {"deepseek", "ollama", "vllm", "lmstudio", "llamacpp", "openrouter", "openai"}
    assert set(BUILT_IN) == names and set(all_profiles({})) == {*names, "local"}
    for profile in BUILT_IN.values():
        assert profile.quirks <= set(QUIRKS)
        assert profile.is_local == ("localhost" in profile.base_url)
        # Each is good as it is.
        key = "" if profile.is_local or not profile.key_env else "sk-1"
        settings = Settings.load({"profile": profile.name}, {profile.key_env or "X": key})
        assert (settings.base_url, settings.model) == (profile.base_url, profile.model)
        assert settings.api_key == (key or NO_KEY) and settings.has_key == bool(key)


def test_one_name_sets_endpoint_model_window_and_the_key_that_none_is_needed(tmp_path: Path) -> None:
    settings = load(tmp_path, flags={"profile": "local"})
    assert (settings.base_url, settings.model) == ("http://localhost:11434/v1", "qwen3:8b")
    assert settings.context_limit == 32_768
    assert (settings.api_key, settings.has_key) == (NO_KEY, False)
    assert {settings.origin(name) for name in ("base_url", "model", "context_tokens", "api_key")} == {"profile local"}
    assert settings.origin("profile") == "command line"


@pytest.mark.parametrize(
    ("sources", "model"),
    [
        ({"flags": {"profile": "ollama"}, "environ": {"REPO_AGENT_MODEL": "m"}}, "qwen3:8b"),
        ({"flags": {"profile": "ollama", "model": "m"}}, "m"),
        ({"environ": {"REPO_AGENT_PROFILE": "ollama", "REPO_AGENT_MODEL": "m"}}, "m"),
        ({"environ": {"REPO_AGENT_PROFILE": "ollama"}, "env": "REPO_AGENT_MODEL=m"}, "qwen3:8b"),
        ({"environ": {"REPO_AGENT_MODEL": "m"}, "env": "REPO_AGENT_PROFILE=ollama"}, "m"),
        ({"env": "REPO_AGENT_MODEL=m", "config": 'profile = "ollama"'}, "m"),
        ({"config": 'profile = "ollama"\nmodel = "m"'}, "m"),
        ({"config": 'profile = "openai"', "flags": {"profile": "ollama"}}, "qwen3:8b"),
    ],
)
def test_a_profile_ranks_as_what_chose_it_below_explicit_values(
    tmp_path: Path, sources: dict[str, Any], model: str
) -> None:
    assert load(tmp_path, **sources).model == model


def test_the_window_of_a_profile_is_its_models_unless_the_server_sets_it(tmp_path: Path) -> None:
    assert load(tmp_path, flags={"profile": "openai"}).context_limit == 272_000
    assert load(tmp_path, flags={"profile": "openai", "model": "other"}).context_limit == 128_000
    assert load(tmp_path, flags={"profile": "ollama", "model": "other"}).context_limit == 32_768


def test_own_profiles_stand_beside_the_built_in_ones_and_may_change_them_in_part(tmp_path: Path) -> None:
    config = OWN + 'quirks = ["no_usage"]\n[profiles.ollama]\nmodel = "llama3.3"\n[profiles.local]\n'
    config += 'base_url = "http://gpu.lan:8000/v1"\nmodel = "m"\n'
    work = load(tmp_path, flags={"profile": "work"}, environ={"WORK_KEY": "sk-w"}, config=config)
    assert (work.base_url, work.model, work.api_key) == ("https://llm.work.example/v1", "big", "sk-w")
    assert work.quirks == {"no_usage"}
    ollama = load(tmp_path, flags={"profile": "ollama"}, config=config)
    assert (ollama.base_url, ollama.model, ollama.context_limit) == ("http://localhost:11434/v1", "llama3.3", 32_768)
    assert load(tmp_path, flags={"profile": "local"}, config=config).base_url == "http://gpu.lan:8000/v1"


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        (
            {"flags": {"profile": "nope"}},
            r"--profile: there is no profile 'nope'; there are deepseek, llamacpp, .*vllm",
        ),
        ({"config": 'profile = "x"\n' + OWN}, r"profile \(in config.toml\): there is no .*openrouter, vllm, work\."),
        ({"config": '[profiles.x]\nmodel = "m"'}, r"profiles\.x \(in config.toml\) needs base_url"),
        ({"config": "[profiles]\nx = 1"}, r"profiles\.x .* must be a table"),
        ({"config": "profiles = 1"}, "must be a table"),
        ({"config": '[profiles."a b"]\nmodel = "m"'}, "the name must be"),
        ({"config": OWN + 'colour = "red"'}, r"profiles\.work\.colour .* means nothing; a profile has base_url"),
        ({"config": OWN + 'quirks = ["slow"]'}, 'quirks .* must be a list of "no_usage"'),
        ({"config": OWN + "context_tokens = true"}, "context_tokens .* must be a whole number"),
        ({"config": '[profiles.ollama]\nbase_url = "https://me:hunter2@x"'}, "base_url .* must be an http"),
    ],
)
def test_what_is_wrong_with_a_profile_is_a_usage_error_that_names_it(
    tmp_path: Path, sources: dict[str, Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        load(tmp_path, **sources)
    assert "hunter2" not in str(caught.value)


# --- where a key goes ------------------------------------------------------------------------------------------------


def test_a_profile_sends_its_own_key_and_no_other(tmp_path: Path) -> None:
    """DeepSeek's key, which is set for good, goes to nobody else because of a profile."""
    keys = {"API_KEY": "sk-deepseek", "DEEPSEEK_API_KEY": "sk-d", "OPENROUTER_API_KEY": "sk-router"}
    got = {name: load(tmp_path, flags={"profile": name}, environ=keys).api_key for name in BUILT_IN}
    assert got == {
        **dict.fromkeys(("ollama", "vllm", "lmstudio", "llamacpp"), NO_KEY),
        "deepseek": "sk-deepseek",
        "openrouter": "sk-router",
        "openai": None,
    }


def test_a_missing_key_is_named_by_its_own_variable(tmp_path: Path) -> None:
    settings = load(tmp_path, flags={"profile": "openrouter"}, environ={"API_KEY": "sk-deepseek"})
    assert settings.api_key is None and settings.key_wanted == "set OPENROUTER_API_KEY"
    assert load(tmp_path).key_wanted == "set API_KEY (or DEEPSEEK_API_KEY)"


@pytest.mark.parametrize("how", ["flag", "environment", "config"])
@pytest.mark.parametrize("name", ["openrouter", "work"])
def test_a_key_of_the_environment_goes_to_the_profile_that_names_it(tmp_path: Path, how: str, name: str) -> None:
    """Key and endpoint were put together by the program or in the user's own file."""
    keys = {"OPENROUTER_API_KEY": "sk-1", "WORK_KEY": "sk-1"}
    sources: dict[str, Any] = {
        "flag": {"flags": {"profile": name}, "config": OWN},
        "environment": {"environ": {"REPO_AGENT_PROFILE": name}, "config": OWN},
        "config": {"config": f'profile = "{name}"\n{OWN}'},
    }[how]
    settings = load(tmp_path, **{**sources, "environ": {**keys, **sources.get("environ", {})}})
    assert settings.api_key == "sk-1"


@pytest.mark.parametrize(
    "sources",
    [
        # a .env chooses where a key of the environment goes, be it to whom the key belongs
        {"env": "REPO_AGENT_PROFILE=openrouter"},
        {"env": "REPO_AGENT_PROFILE=work"},
        {"env": "REPO_AGENT_PROFILE=vllm"},
        # it takes the key along to an endpoint of its own
        {"env": f"REPO_AGENT_PROFILE=openrouter\nREPO_AGENT_BASE_URL={EVIL}"},
        {"env": f"REPO_AGENT_BASE_URL={EVIL}", "config": 'profile = "work"\n' + OWN},
        {"env": f"REPO_AGENT_BASE_URL={EVIL}", "config": 'profile = "deepseek"\n' + OWN},
        # the default endpoint is DeepSeek's: no home for another's key
        {"env": "REPO_AGENT_BASE_URL=https://api.deepseek.com", "config": 'profile = "openrouter"\n' + OWN},
    ],
)
def test_an_env_file_sends_no_key_of_the_environment_elsewhere_by_a_profile(
    tmp_path: Path, sources: dict[str, str]
) -> None:
    names = ("API_KEY", "OPENROUTER_API_KEY", "WORK_KEY", "VLLM_API_KEY")
    with pytest.raises(UsageError, match=r"\(in \.env\) would send \w+ \(in the environment\)") as caught:
        load(tmp_path, environ=dict.fromkeys(names, "hunter2"), **{"config": OWN, **sources})
    assert "hunter2" not in str(caught.value)


def test_an_env_file_may_choose_what_takes_no_key_or_one_of_its_own(tmp_path: Path) -> None:
    keys = {"API_KEY": "sk-deepseek", "OPENROUTER_API_KEY": "sk-router"}
    assert load(tmp_path, environ=keys, env="REPO_AGENT_PROFILE=ollama").api_key == NO_KEY
    assert load(tmp_path, environ=keys, env="REPO_AGENT_PROFILE=deepseek").api_key == "sk-deepseek"
    own = load(tmp_path, environ={"API_KEY": "k"}, env="REPO_AGENT_PROFILE=openrouter\nOPENROUTER_API_KEY=sk-own")
    assert own.api_key == "sk-own"
    # a higher choice takes the endpoint out of its hands
    env = f"REPO_AGENT_BASE_URL={EVIL}"
    assert load(tmp_path, environ={**keys, "REPO_AGENT_PROFILE": "openrouter"}, env=env).base_url.startswith(
        "https://openrouter.ai/"
    )


def test_a_key_in_a_profile_of_the_users_file_is_the_last_resort(tmp_path: Path) -> None:
    config = OWN + 'api_key = "sk-file"\n'
    assert load(tmp_path, flags={"profile": "work"}, config=config).api_key == "sk-file"
    settings = load(tmp_path, flags={"profile": "work"}, environ={"WORK_KEY": "sk-env"}, config=config)
    assert settings.api_key == "sk-env" and "sk-env" not in repr(settings)
    # A .env outranks that file, and still takes the key nowhere else.
    with pytest.raises(UsageError, match=r"REPO_AGENT_BASE_URL \(in \.env\) would send profiles\.work\.api_key"):
        load(tmp_path, env=f"REPO_AGENT_BASE_URL={EVIL}\nREPO_AGENT_PROFILE=work", config=config)


# --- over real sockets -----------------------------------------------------------------------------------------------


async def ran(settings: Settings) -> Heard:
    """A run on settings as they are."""
    heard, session = Heard(), Session(settings)
    try:
        await session.run(RunRequest(repo="team/tool", no_cache=True), heard)
    finally:
        await session.aclose()
    return heard


async def test_a_profile_without_a_key_runs_the_llm_and_minds_its_quirks(tmp_path: Path) -> None:
    async with servers([think("Hm."), read("README.md")], FINAL) as (github, model):
        config = f'[profiles.own]\nbase_url = "{model.url}"\nmodel = "deepseek-flash"\n'
        config += 'quirks = ["no_usage", "max_completion_tokens"]\n'
        environ = {"API_KEY": "sk-deepseek", "GITHUB_API_URL": github.url}
        settings = load(tmp_path, flags={"profile": "own", "max_tokens": "50000"}, environ=environ, config=config)
        heard = await ran(settings)
        assert heard.finished["outcome"] == "completed"
        assert heard.of("run_started")[0]["engine"] == "llm"
        assert any("without a key" in notice["text"] for notice in heard.of("notice"))
        assert {request.headers["authorization"] for request in model.requests} == {f"Bearer {NO_KEY}"}
        for body in model.bodies:
            assert "stream_options" not in body and "max_tokens" not in body and body["max_completion_tokens"] > 0


@pytest.mark.parametrize("quirks", [frozenset[str](), frozenset({"no_reasoning_echo"})])
async def test_what_was_thought_stays_here_where_the_profile_says_so(quirks: frozenset[str]) -> None:
    # The scripted server, like DeepSeek, refuses a history without it; only then is it told all the same.
    async with GitHubServer(FILES) as github, ModelServer([think("Hm."), read("README.md")], FINAL) as model:
        profile = Profile("own", model.url, "deepseek-flash", quirks=quirks)
        await ran(Settings(api_key="k", base_url=model.url, github_api_url=github.url, chosen=profile))
        told = any("reasoning_content" in message for message in model.bodies[1]["messages"])
        assert told is not bool(quirks)

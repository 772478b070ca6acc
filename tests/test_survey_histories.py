"""The survey's writer on histories of other making: another model's, cut, shortened, of any shape at all."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.survey_fakes import NOW, TOOLS, FakeRepository, Json, Today, play, task
from tui_agent.transports.survey.history import History, read_history
from tui_agent.transports.survey.model import decide
from tui_agent.transports.survey.writer import write_report


def other_model(*calls: tuple[str, Json, Any]) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": "x"}, task()]
    for number, (name, arguments, result) in enumerate(calls):
        call = {"id": "call_0", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": f"Turn {number}", "tool_calls": [call]})
        content = result if isinstance(result, str) else json.dumps(result)
        messages.append({"role": "tool", "tool_call_id": "call_0", "content": content})
    return messages


def test_from_another_models_readme_alone_a_report_is_written() -> None:
    result = {
        "ok": True,
        "path": "README.md",
        "characters": 30,
        "content": "# X\n\nX is a thing for all.\n",
        "truncated": False,
    }
    text = write_report(
        other_model(("read_file", {"owner": "o", "repo": "x", "path": "README.md"}, result)), clock=Today()
    )
    assert "**No LLM wrote this report.**" in text
    assert "**No LLM took part.**" not in text
    assert "“X is a thing for all.”" in text
    assert "Licence: the root could not be seen whole." in text


def test_a_window_by_lines_is_not_taken_for_the_files_beginning() -> None:
    result = {
        "ok": True,
        "path": "README.md",
        "characters": 900,
        "content": "Words from the middle of it.\n",
        "truncated": True,
    }
    arguments = {"owner": "o", "repo": "x", "path": "README.md", "start_line": 40}
    text = write_report(other_model(("read_file", arguments, result)), clock=Today())
    assert "Words from the middle" not in text
    assert "`README.md` (in part)" in text


def test_an_answer_by_reference_is_looked_up_and_one_that_leads_nowhere_is_none() -> None:
    arguments = {"owner": "o", "repo": "x", "path": "README.md"}
    first = {"ok": True, "path": "README.md", "characters": 8, "content": "# Hello\n", "truncated": False}
    shortened = {"ok": True, "shortened": "It was."}

    def reference(number: int) -> Json:
        return {"ok": True, "repeated": "Before.", "call_id": f"call_{number}"}

    def history(*results: Json) -> History:
        return read_history(other_model(*(("read_file", arguments, result) for result in results)))

    calls = history(first, reference(0), reference(0)).calls
    assert [call.result["content"] for call in calls] == ["# Hello\n"] * 3
    assert {call.status for call in calls} == {"ok"}
    assert [call.status for call in history(shortened, reference(0), reference(7), first).calls] == [
        *["unanswered"] * 3,
        "ok",
    ]
    assert history(shortened, reference(0), first).files["README.md"].complete


def test_without_any_line_of_the_task_the_name_comes_from_the_calls() -> None:
    messages = other_model(("list_directory", {"owner": "o", "repo": "x"}, {"ok": True, "path": ""}))
    messages[1] = {"role": "user", "content": [{"type": "text", "text": "Tell me about o/x"}]}
    assert write_report(messages, clock=Today()).startswith("# Survey of `o/x`")


_keys = st.sampled_from(
    "ok path dirs files symlinks submodules below size by_extension largest total_entries content characters truncated"
    " pattern total commits repeated call_id full_name license local topics description archived stars more".split()
) | st.text(max_size=4)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)
_tools = st.sampled_from([tool["function"]["name"] for tool in TOOLS] + ["other", ""])
_paths = st.sampled_from(["", "README.md", "package.json", "src", "pyproject.toml", "LICENSE", "a/go.mod", "\ud800"])


@given(
    calls=st.lists(st.tuples(_tools, _paths, _json | st.text(max_size=9)), max_size=8), lang=st.sampled_from(["", "zh"])
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_shape_of_observations_keeps_a_report_from_being_written(calls: list[Any], lang: str) -> None:
    history = other_model(
        *(
            (
                name,
                {"owner": "o", "repo": "x", "path": path, "pattern": "go.mod"},
                {"ok": True, **result} if isinstance(result, dict) else result,
            )
            for name, path, result in calls
        )
    )
    history[1] = task(lang=lang)
    assert write_report(history, clock=Today()).startswith("# ")
    decide(history, TOOLS, NOW)


@given(
    message=st.lists(
        st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "tool_call_id"]), _json), max_size=5
    )
)
@settings(max_examples=50, deadline=None)
def test_no_shape_of_messages_keeps_a_report_from_being_written(message: list[Any]) -> None:
    assert write_report(message, clock=Today()).startswith("# ")


def test_an_observation_that_was_shortened_is_no_observation() -> None:
    messages = play(FakeRepository({"README.md": "# X\n\nSome words about this.\n", "a.py": "x"})).messages
    stub = json.dumps({"ok": True, "shortened": "This observation was shortened to fit the context window."})
    short = [{**m, "content": stub} if m["role"] == "tool" else m for m in messages]
    text = write_report(short, clock=Today())
    assert "The tree could not be listed." in text
    assert "Without a usable answer:" in text
    assert "none in the root" not in text
    assert "The root holds nothing" not in text

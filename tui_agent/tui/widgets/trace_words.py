"""What stands on a line of the trace: a shape, words and a tone for every state of a call, a wait, a notice, a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from tui_agent.events import CacheState, Level
from tui_agent.i18n import count, mark, say, told
from tui_agent.tui.calls import Call, Phase
from tui_agent.tui.state import DashboardState, RunWord, Turn
from tui_agent.tui.widgets.trace_tree import Tone
from tui_agent.tui.words import RUN_SIGNS, duration, short_count


@dataclass(frozen=True, slots=True)
class Words:
    """One line: `name` and `status` stay whole, `subject` and `note` give way where room is short."""

    mark: str = ""
    name: str = ""
    subject: str = ""
    status: str = ""
    note: str = ""
    tone: Tone = "plain"


RUNNING: Final = "▶"
_ENDS: Final[dict[str, tuple[str, Tone]]] = {
    mark("ok"): ("✓", "ok"),
    mark("error"): ("✗", "error"),
    mark("fallback"): ("↯", "fallback"),
    mark("cancelled"): ("■", "waiting"),
}
_CACHE: Final[dict[CacheState, str]] = {
    "miss": "", "hit": mark("cache"), "revalidated": mark("revalidated"), "memory": mark("memory"),
}  # fmt: skip
_LEVELS: Final[dict[Level, Words]] = {
    "info": Words("ℹ", mark("notice"), tone="muted"),
    "warning": Words("▲", mark("warning"), tone="waiting"),
    "error": Words("✗", mark("error"), tone="error"),
}
_RUNS: Final[dict[RunWord, Tone]] = {
    "completed": "ok", "partial": "waiting", "failed": "error", "cancelled": "waiting",
}  # fmt: skip
_PLACES: Final = ("path", "pattern")
_ADDRESS: Final = ("owner", "repo")
_KINDS: Final = ("dirs", mark("files"), mark("symlinks"), mark("submodules"))


def call_words(call: Call, now: float) -> Words:
    """A call's line, at `now` (run seconds)."""
    subject = call_subject(call.arguments)
    if call.outcome is None:
        return Words(RUNNING, call.tool, subject, _progress(call, now), tone="running")
    shape, tone = _ENDS[call.outcome]
    parts: list[str] = [say(call.outcome)]
    elapsed = call.elapsed
    if elapsed is None and call.finished_at is not None:
        elapsed = call.finished_at - call.started_at
    if elapsed is not None:
        parts[0] += f" {duration(elapsed)}"
    if call.attempts > 1:
        parts.append(count("{number} attempt", "{number} attempts", call.attempts))
    if call.cache is not None and _CACHE.get(call.cache):
        parts.append(say(_CACHE[call.cache]))
    note = ""
    if call.outcome in ("error", "fallback") and isinstance(call.result, Mapping):
        note = str(call.result.get("error", ""))
    return Words(shape, call.tool, subject, " · ".join(parts), note, tone)


def _progress(call: Call, now: float) -> str:
    wait = call.waiting(now)
    if wait is not None and wait.until is not None:
        left = seconds_left(wait.until, now)
        if wait.kind == "limit":
            return say("rate limit, {left} s left", left=left)
        return say("retry {which}, in {left} s", which=_ordinal(wait), left=left)
    attempt = call.phases_at(now)[-1].attempt
    return say("running, attempt {attempt}", attempt=attempt) if attempt > 1 else say("running")


def seconds_left(until: float, now: float) -> int:
    """The whole seconds that a countdown shows: 1 in the last one."""
    return max(1, ceil(round(until - now, 3)))


def _ordinal(phase: Phase) -> str:
    return say("{attempt} of {of}", attempt=phase.attempt, of=phase.of) if phase.of else str(phase.attempt)


def call_subject(arguments: Mapping[str, Any]) -> str:
    """What a call is about: its path or pattern, then what else was asked; the repository is known."""
    if not isinstance(arguments, Mapping):
        return str(arguments)
    parts = [str(arguments[key]) for key in _PLACES if arguments.get(key)]
    parts += [
        f"{key}={value}"
        for key, value in arguments.items()
        if key not in _PLACES and key not in _ADDRESS and value not in (None, "")
    ]
    return " ".join(parts)


def arguments_note(arguments: Mapping[str, Any]) -> str:
    """What folded arguments show of themselves: what tells this call from others comes first."""
    if not isinstance(arguments, Mapping):
        return str(arguments)
    own = sorted(arguments.items(), key=lambda item: item[0] in _ADDRESS)
    return ", ".join(f"{key}: {value}" for key, value in own)


def result_note(result: Mapping[str, Any]) -> str:
    """What a folded observation shows of itself: the error, the beginning of the text, or the names in the list."""
    if result.get("error"):
        return str(result["error"])
    content = result.get("content")
    if isinstance(content, str):
        return content[:300] or say("(empty)")
    if result.get("repeated"):
        return str(result["repeated"])
    names, key = _names(result)
    if key:
        total = result.get("total_entries", result.get("total", len(names)))
        return f"{total} {say(key)}: " + ", ".join(name for name in names[:40] if name)
    return ", ".join(f"{key}: {value}" for key, value in list(result.items())[:20] if key != "ok")


def _names(result: Mapping[str, Any]) -> tuple[list[str], str]:
    """What an observation lists, and what that is; "" where it lists nothing."""
    commits = result.get("commits")
    if isinstance(commits, list):
        # the message stands last
        return [str(row[-1]) if isinstance(row, list) and row else str(row) for row in commits], mark("commits")
    kinds = [kind for kind in _KINDS if isinstance(result.get(kind), Mapping | list)]
    names = [f"{name}/" if kind == "dirs" else str(name) for kind in kinds for name in result[kind]]
    return names, kinds[0] if len(kinds) == 1 and kinds != ["dirs"] else mark("entries") if kinds else ""


def phase_words(phase: Phase, now: float, who: str = "") -> Words:
    """A failed attempt, a retry that is due, or a wait for a limit; `who` names what no call's line stands above."""
    if phase.failed:
        status = "" if phase.status is None or str(phase.status) in phase.reason else f"{phase.status} "
        return Words(
            "✗",
            who + say("attempt {attempt} failed", attempt=phase.attempt),
            f"{status}{told(phase.reason)}",
            tone="error",
        )
    seconds = 0.0 if phase.until is None else phase.until - phase.start
    waiting = phase.end is None and phase.until is not None and phase.until > now
    left = seconds_left(phase.until, now) if waiting and phase.until is not None else 0
    if phase.kind == "limit":
        name = say("secondary rate limit") if phase.reason == "secondary" else say("rate limit")
        waited = seconds if phase.end is None else phase.end - phase.start
        said = say("waits, {left} s left", left=left) if waiting else say("waited {time}", time=duration(waited))
        return Words("◷", f"{who}{name}", status=said, tone="waiting")
    said = say("in {left} s", left=left) if waiting else say("after {time}", time=duration(seconds))
    return Words("↻", who + say("attempt {which}", which=_ordinal(phase)), status=said, tone="waiting")


def notice_words(level: Level, text: str) -> Words:
    """A notice's line."""
    known = _LEVELS.get(level, _LEVELS["info"])
    return Words(known.mark, say(known.name), told(text), tone=known.tone)


def turn_words(
    turn: Turn, state: DashboardState, now: float, tools: Mapping[str, int], ends: Mapping[str, int]
) -> Words:
    """A turn's line.

    Args:
        turn: the turn.
        state: the run that it belongs to.
        now: run seconds.
        tools: how often each tool was called in it.
        ends: how many of its calls ended in which way.
    """
    subject = ", ".join(f"{tool} ×{number}" if number > 1 else tool for tool, number in tools.items())
    if turn.finished_at is None and state.run.running:
        most = state.run.max_turns
        name = say("Turn {turn} of {most}", turn=turn.number, most=most) if most else _name(turn)
        return Words(RUNNING, name, subject, _turn_progress(turn, now, tools, ends), tone="running")
    parts = [say("{number} {end}", number=number, end=say(end)) for end, number in ends.items()]
    if not tools and len(turn.content):
        parts.append(say("report"))
    if turn.finished_at is not None:
        parts.append(duration(turn.finished_at - turn.started_at))
    usage = turn.usage
    spent = usage.prompt_tokens + usage.completion_tokens if usage is not None else 0
    note = say("{tokens} tokens", tokens=short_count(spent)) if spent else ""
    shape, tone = _turn_end(turn, state, ends)
    return Words(shape, _name(turn), subject, " · ".join(parts), note, tone)


def _name(turn: Turn) -> str:
    return say("Turn {turn}", turn=turn.number)


def _turn_end(turn: Turn, state: DashboardState, ends: Mapping[str, int]) -> tuple[str, Tone]:
    if state.turns and turn is state.turns[-1] and state.run.outcome in ("failed", "cancelled"):
        return RUN_SIGNS[state.run.outcome].shape, _RUNS[state.run.outcome]
    return ("✓", "ok") if not ends or set(ends) == {"ok"} else ("!", "fallback")


def _turn_progress(turn: Turn, now: float, tools: Mapping[str, int], ends: Mapping[str, int]) -> str:
    made, ended = sum(tools.values()), sum(ends.values())
    if made > ended:
        running = say("{number} running", number=made - ended)
        return running + (say(", {number} done", number=ended) if ended else "")
    model = turn.model_call
    if model is not None and model.running:
        return say("model: ") + _progress(model, now)
    if made:
        return say("{number} done", number=ended)
    if len(turn.content):
        return say("writing")
    return say("thinking") if len(turn.reasoning) else say("waits for the model")


def snapshot_words(state: DashboardState, now: float) -> Words:
    """The line of the one state of the code that the run sees."""
    run = state.run
    if run.files is None:
        call = state.snapshot_call
        if run.running:
            progress = say("running") if call is None else _progress(call, now)
            return Words(RUNNING, say("snapshot"), run.repo, progress, tone="running")
        return Words("✗", say("snapshot"), run.repo, say("none"), tone="error")
    at = f"{run.ref or 'HEAD'} @ {run.commit[:7]}" if run.commit else run.ref or ""
    status = count("{number:,} file", "{number:,} files", run.files)
    if run.truncated:
        status += f" · {say('list cut short')}"
    return Words("✓", say("snapshot"), at, status, "" if run.commit else say("no commits"), "ok")


def end_words(state: DashboardState) -> Words:
    """The last line: how the run ended."""
    run = state.run
    parts = [count("{number} turn", "{number} turns", len(state.turns))]
    parts.append(count("{number} call", "{number} calls", run.tool_calls))
    if run.elapsed is not None:
        parts.append(duration(run.elapsed))
    shape, tone = RUN_SIGNS[run.outcome].shape, _RUNS.get(run.outcome, "plain")
    return Words(shape, say(run.outcome), told(run.error or ""), " · ".join(parts), tone=tone)

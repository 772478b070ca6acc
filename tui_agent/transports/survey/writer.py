"""Facts → Markdown: the survey's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.transports.survey.answer import Section, answer, touched
from tui_agent.transports.survey.facts import Facts, gather
from tui_agent.transports.survey.five import five_sentences
from tui_agent.transports.survey.history import History, read_history
from tui_agent.transports.survey.markup import code
from tui_agent.transports.survey.phrases import Phrases, choose
from tui_agent.transports.survey.rules import plan
from tui_agent.transports.survey.section_layout import architecture, directories
from tui_agent.transports.survey.section_overview import overview
from tui_agent.transports.survey.section_sources import sources
from tui_agent.transports.survey.section_state import activity, languages, quality
from tui_agent.transports.survey.section_tech import tech
from tui_agent.transports.survey.verdicts import risks, strengths

_ALL_TOOLS = ("get_repo_info", "list_directory", "find_files", "read_file", "get_commits")
_SECTIONS: Mapping[str, tuple[tuple[str, Section], ...]] = {
    "full": (
        ("h_overview", overview),
        ("h_tech", tech),
        ("h_directories", directories),
        ("h_architecture", architecture),
        ("h_languages", languages),
        ("h_quality", quality),
        ("h_activity", activity),
        ("h_strengths", strengths),
        ("h_risks", risks),
    ),
    "architecture": (("h_directories", directories), ("h_architecture", architecture), ("h_languages", languages)),
}


def write_report(messages: Sequence[Mapping[str, Any]], *, clock: Clock | None = None) -> str:
    """A report from whatever a run has observed, also where another model chose what to look at.

    Args:
        messages: the chat's history; anything unexpected in it is passed over.
        clock: tells today, for what is said of staleness; the machine's own where None.

    Returns:
        Markdown. Its first lines say that no LLM wrote it and which commit it speaks of.
    """
    return report(read_history(messages), (clock or SystemClock()).time())


def report(history: History, now: float, *, finished: bool = True) -> str:
    """The report over a history.

    Args:
        history: what was asked and observed.
        now: seconds since the epoch.
        finished: False where the survey was stopped before its rules had nothing left to ask.
    """
    facts = gather(history, now)
    phrases, about_language = choose(history.request)
    if history.request.is_follow_up:
        return "\n\n".join(answer(history.request.question, _SECTIONS["full"], facts, phrases)) + "\n"
    preset = history.request.preset
    free = "" if preset else history.request.question
    asked = touched(free, _SECTIONS["full"])
    blocks = [*_head(facts, phrases, about_language, ("follow_up" if asked else "free_question") if free else "")]
    if preset == "overview":
        blocks.append(five_sentences(facts, phrases))
    else:
        for heading, section in asked or _SECTIONS["architecture" if preset == "architecture" else "full"]:
            blocks += [f"## {phrases.say(heading)}", *section(facts, phrases)]
    blocks += [f"## {phrases.say('h_sources')}", *sources(facts, phrases, 0 if finished else _open_calls(history))]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _open_calls(history: History) -> int:
    """How many calls the survey would still have made next."""
    return len(plan(history, _ALL_TOOLS).calls)


def _head(facts: Facts, phrases: Phrases, about_language: str, about_question: str) -> list[str]:
    """Title, and in the first lines: how a free question is met, that no LLM took part, and the commit."""
    request, info = facts.history.request, facts.info
    title = phrases.say("title", repo=code(request.repo)) if request.repo else phrases.say("title_unknown")
    lines = [phrases.say(about_question)] if about_question else []
    lines.append(phrases.say("no_llm" if facts.history.explored_by_survey else "no_llm_wrote"))
    lines.append(_commit(facts, phrases))
    lines.append(about_language)
    if info and info.full_name and request.repo and info.full_name.lower() != request.repo.lower():
        lines.append(phrases.say("renamed", asked=code(request.repo), name=code(info.full_name)))
    if request.uncommitted:
        lines.append(phrases.say("uncommitted", changes=phrases.count(request.uncommitted, "change")))
    if request.path:
        lines.append(phrases.say("path", path=code(request.path)))
    return [f"# {title}", "\n>\n".join(f"> {line}" for line in lines if line)]


def _commit(facts: Facts, phrases: Phrases) -> str:
    """Which state of the code the report speaks of."""
    request, info = facts.history.request, facts.info
    ref = code(request.ref or "HEAD")
    commit = request.commit
    if not commit:
        if info and info.folder:
            return phrases.say("commit_folder")
        return phrases.say("commit_none", ref=ref) if request.ref else phrases.say("commit_unknown")
    # A tree that came cut is counted by nobody.
    if request.files is None or (facts.root is not None and not facts.counted):
        return phrases.say("commit", commit=code(commit), ref=ref)
    return phrases.say("commit_files", commit=code(commit), ref=ref, files=phrases.count(request.files, "file_seen"))

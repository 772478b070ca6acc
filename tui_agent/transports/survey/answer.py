"""A follow-up question: the survey answers with those of its facts that the question's words touch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.phrases import Phrases

Section = Callable[[Facts, Phrases], list[str]]

# What a section can answer, by the words in which people ask for it, in both of the survey's languages.
TOPICS: Mapping[str, re.Pattern[str]] = {
    heading: re.compile(words, re.IGNORECASE)
    for heading, words in {
        "h_overview": (
            r"\b(overview|what is|purpose|summar\w*|about|stars?|forks?|how (big|large))\b"
            r"|概述|概览|简介|是什么|用途|多大"
        ),
        "h_tech": (
            r"\b(tech\w*|stack|dependenc\w*|librar\w*|frameworks?|packages?|versions?|requires?|builds?|building)\b"
            r"|技术|依赖|框架|版本|构建|编译"
        ),
        "h_directories": r"\b(director\w*|folders?|structure|layout|where)\b|目录|结构|哪里|在哪",
        "h_architecture": r"\b(architect\w*|entry|starts?|modules?|design\w*|parts?)\b|架构|入口|启动|模块|设计",
        "h_languages": r"\b(languages?|lines of code)\b|编程语言|语言",
        "h_quality": (
            r"\b(tests?|testing|ci|continuous|licen[cs]\w*|docs?|documentation|quality)\b"
            r"|测试|许可|文档|质量|持续集成"
        ),
        "h_activity": (
            r"\b(activ\w*|commits?|authors?|who|contribut\w*|maintain\w*|recent\w*|history|when|last)\b"
            r"|活跃|提交|作者|谁|贡献|维护|最近|历史|什么时候"
        ),
        "h_strengths": r"\b(strengths?|good|highlights?|advantages?)\b|优点|亮点|优势",
        "h_risks": r"\b(risks?|problems?|weak\w*|concerns?|dangers?|issues?)\b|风险|问题|缺点|隐患",
    }.items()
}


def touched(question: str, sections: Sequence[tuple[str, Section]]) -> list[tuple[str, Section]]:
    """Those of some sections that a question's words touch."""
    return [(heading, section) for heading, section in sections if TOPICS[heading].search(question)]


def answer(question: str, sections: Sequence[tuple[str, Section]], facts: Facts, phrases: Phrases) -> list[str]:
    """The blocks of an answer.

    Args:
        question: what is asked.
        sections: the report's sections by their headings.
        facts: what was found.
        phrases: the answer's language.
    """
    found = touched(question, sections)
    if not found:
        topics = phrases.join(phrases.say(heading) for heading, _ in sections)
        return [f"> {phrases.say('follow_up_none', topics=topics)}"]
    blocks = [f"> {phrases.say('follow_up')}"]
    for heading, section in found:
        blocks += [f"### {phrases.say(heading)}", *section(facts, phrases)]
    return blocks

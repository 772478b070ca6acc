"""Why a report is partial, in English for people and in its own language for the report; why there is no snapshot."""

from __future__ import annotations

from typing import NamedTuple

from tui_agent.resilience.outcome import BreakerOpen, LimitTooFar, Trouble, Unavailable


class Reason(NamedTuple):
    """One clause without a full stop, in English and in Chinese."""

    en: str
    zh: str


OUTPUT_LIMIT = Reason("the model's output limit cut its answer off", "模型的输出上限截断了回答")
CONTEXT_LIMIT = Reason("the model's context window cut its answer off", "模型的上下文窗口截断了回答")
CONTENT_FILTER = Reason("a content filter of the model's server cut its answer off", "模型服务的内容过滤截断了回答")
TOKENS = Reason("the bound on tokens was reached", "已达到令牌上限")
NO_TOKENS_LEFT = Reason(
    "the bound on tokens left no room for the model to write a report", "令牌上限已不足以让模型撰写报告"
)
NO_REPORT = Reason("the model has written no report", "模型没有写出报告")


def turns_used_up(turns: int) -> Reason:
    """All turns are spent."""
    if turns == 1:
        return Reason("the only turn was used up", "唯一的一轮已用完")
    return Reason(f"all {turns} turns were used up", f"全部 {turns} 轮已用完")


def model_lost(why: str) -> Reason:
    """The model refused or went away; `why` is the server's or the layers' own words."""
    why = why.rstrip(".")
    return Reason(f"the model was lost ({why})", f"模型已不可用（{why}）")


def by_survey(reason: Reason) -> Reason:
    """The same, and that the survey took the pen."""
    return Reason(
        f"{reason.en}; the built-in survey wrote it from what had been observed",
        f"{reason.zh}；内置巡检根据已观察到的内容写成",
    )


def own_fault(error: Exception) -> str:
    """A fault of the program itself; of one that came out of several tasks, its own words."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return f"A fault of this program ended the run ({type(error).__name__}: {error})."


def unreachable(error: Trouble | Unavailable, *, local: bool, has_token: bool) -> str:
    """Why no snapshot could be had, and what to do, in a sentence or two.

    Args:
        error: what the layers say.
        local: whether the repository lies on this machine.
        has_token: whether GitHub is asked with one.
    """
    if isinstance(error, LimitTooFar):
        return error.reason + ("" if has_token else " Set GITHUB_TOKEN for 5,000 requests an hour, or try again then.")
    if isinstance(error, BreakerOpen):
        return f"{error.reason} Reset the breaker, or try again later."
    where = "The repository" if local else "GitHub"
    return f"{where} could not be read: {error.reason.rstrip('.')}. Check the connection, then try again."

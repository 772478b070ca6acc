"""Why a report is partial: told in English to the user and the log, in the report's own language in the report."""

from __future__ import annotations

from typing import NamedTuple


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

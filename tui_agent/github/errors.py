"""What GitHub's refusals mean, each in a sentence of its own that says what to do."""

from __future__ import annotations

from tui_agent.resilience.outcome import Answered


class GitHubError(Answered):
    """GitHub answered, and the answer is no.

    Args:
        status: the HTTP status.
        sentence: what it means and what to do, for the model and for people.
        quote: the server's own words in brackets, with a space before; "" for none.
    """

    def __init__(self, status: int, sentence: str, quote: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.quote = quote


_MEANINGS = {
    400: "GitHub did not understand the request",
    401: "GitHub refused the token, or wants one: it is wrong, expired or revoked; set a valid GITHUB_TOKEN, or none",
    403: "GitHub refused access: the token lacks the permission, or its organisation wants more (SSO)",
    404: "not found: it does not exist, or it is private and the token (if any) may not see it; check the name",
    406: "GitHub cannot answer in this form",
    409: "there are no commits to read: the repository is empty, or its state does not allow it now",
    410: "it is gone for good, or this version of GitHub's API is no longer served; do without it",
    413: "it is too large for GitHub to send; do without it",
    422: "GitHub cannot process the name or SHA that was asked for; check it",
    451: "it is blocked for legal reasons; do without it",
}


def refused(status: int, message: str, *, reason: str = "", notice: str = "") -> GitHubError:
    """A refusal in one sentence, with the server's own words in it.

    Args:
        status: the HTTP status (4xx).
        message: the server's words, already made safe.
        reason: why it is blocked (451).
        notice: where the notice of a block can be read (451).
    """
    text = _MEANINGS.get(status, "GitHub refused the request")
    details = "; ".join(part for part in (message, reason and f"reason: {reason}", notice and f"see {notice}") if part)
    quote = f" (HTTP {status}{': ' + details if details else ''})"
    return GitHubError(status, f"{text}{quote}.", quote)

"""What a run tells at its beginning: who is asked, and who receives what is read."""

from __future__ import annotations

from urllib.parse import urlsplit

from tui_agent.events import Notice
from tui_agent.github.address import PUBLIC_API, Address
from tui_agent.safe_text import one_line


def asked_elsewhere(address: Address, api_url: str) -> list[Notice]:
    """Where `GITHUB_API_URL` sends a name that does not itself name that host."""
    if address.local_path is not None or api_url == PUBLIC_API or address.named_host == address.host:
        return []
    return [_info(f"{address.full_name} is asked of {address.host}, since GITHUB_API_URL is set.")]


def receives(base_url: str, *, has_key: bool = True) -> Notice:
    """Which host receives the code, and whether under the user's key."""
    host = urlsplit(base_url).hostname or base_url
    return _info(
        f"The model at {host} receives what the agent reads, {'under your API key' if has_key else 'without a key'}."
    )


def surveyed(*, has_key: bool, variable: str = "") -> Notice:
    """That no LLM takes part, and why."""
    if has_key:
        return _info("The built-in survey explores by rule and computes its report; no LLM takes part.")
    where = f" ({variable})" if variable else ""
    return _info(
        f"No API key is set{where}: the built-in survey explores by rule and computes its report; no LLM takes part."
    )


def folder_of_that_name(repo: str) -> Notice:
    """That a folder bears the name that is asked of GitHub."""
    return _info(f"{one_line(repo, 80)} is asked of GitHub; the folder of that name is ./{one_line(repo, 80)}.")


def _info(text: str) -> Notice:
    return Notice(level="info", text=text)

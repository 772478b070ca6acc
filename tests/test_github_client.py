"""One request to GitHub: what is sent, what a refusal says, and what is never repeated."""

from __future__ import annotations

import httpx
import pytest

from tests.fakes import refused
from tests.github_bench import TOKEN, Bench
from tui_agent.events import AttemptFailed
from tui_agent.github.client import route
from tui_agent.github.errors import GitHubError
from tui_agent.redact import Redactor
from tui_agent.resilience.outcome import Trouble

# -- what is sent --------------------------------------------------------------------------------------


async def test_every_request_says_what_github_asks_for() -> None:
    bench = Bench(token=TOKEN)
    await bench.get()
    (request,) = bench.server.requests
    assert request.method == "GET" and str(request.url) == "https://api.github.com/repos/octo/demo"
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"] == "repo-agent-tui"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.extensions["call_name"] == "get_repo_info"


async def test_without_a_token_no_authorization_is_sent() -> None:
    bench = Bench()
    await bench.get()
    assert "authorization" not in bench.server.requests[0].headers


@pytest.mark.parametrize("api_url", ["https://ghe.example/api/v3", "https://ghe.example/api/v3/", "http://127.0.0.1:8"])
async def test_the_prefix_of_an_enterprise_server_stands_before_every_route(api_url: str) -> None:
    bench = Bench(api_url=api_url)
    await bench.get()
    assert str(bench.server.requests[0].url) == api_url.rstrip("/") + "/repos/octo/demo"


ODD = {
    "a#b": "a%23b",
    "a?b=c": "a%3Fb%3Dc",
    "a%2fb": "a%252fb",
    "%2e%2e": "%252e%252e",
    "..%2f..": "..%252f..",
    "a/b": "a%2Fb",
    "../user": "..%2Fuser",
    "/etc/passwd": "%2Fetc%2Fpasswd",
    "//evil.example/x": "%2F%2Fevil.example%2Fx",
    "https://evil.example/": "https%3A%2F%2Fevil.example%2F",
    "back\\slash": "back%5Cslash",
    "a b": "a%20b",
    "a+b&c;d": "a%2Bb%26c%3Bd",
    "@evil.example": "%40evil.example",
    "line\nbreak\r\n": "line%0Abreak%0D%0A",
    "nul\0": "nul%00",
    "für": "f%C3%BCr",
    "漢字": "%E6%BC%A2%E5%AD%97",
    "😀": "%F0%9F%98%80",
    "rtl\u202egpj": "rtl%E2%80%AEgpj",
    "...": "...",
    "..a": "..a",
    "~x-_.": "~x-_.",
    "{a}[b]|^`<>\"'": "%7Ba%7D%5Bb%5D%7C%5E%60%3C%3E%22%27",
}


@pytest.mark.parametrize(("name", "sent"), ODD.items(), ids=map(repr, ODD))
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_no_name_leaves_its_place_in_the_path(name: str, sent: str, place: int) -> None:
    parts, expected = ["octo", "demo", "main"], ["octo", "demo", "main"]
    parts[place], expected[place] = name, sent
    bench = Bench()
    await bench.get(route("repos", *parts[:2], "commits", parts[2]))
    assert bench.server.targets == ["/repos/{}/{}/commits/{}".format(*expected)]
    assert bench.hosts == {"api.github.com"}


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_that_no_encoding_keeps_in_place_make_no_path(name: str) -> None:
    with pytest.raises(ValueError, match="not a part of a path"):
        route("repos", name, "demo")


@pytest.mark.parametrize("value", ["a&per_page=100", "a#b", "a b", "../x", "ü", "a+b", "a%2fb", "?x"])
async def test_a_value_of_the_query_stays_one_value(value: str) -> None:
    bench = Bench()
    await bench.get(route("repos", "octo", "demo", "commits"), params={"per_page": 30, "path": value})
    url = bench.server.requests[0].url
    assert dict(url.params) == {"per_page": "30", "path": value}
    assert url.raw_path.startswith(b"/repos/octo/demo/commits?per_page=30&path=") and url.fragment == ""


async def test_an_address_that_is_none_is_an_error_and_not_sent() -> None:
    bench = Bench()
    with pytest.raises(GitHubError, match="no valid address"):
        await bench.get(route("repos", "octo", "demo", "commits"), params={"path": "x" * 70_000})
    assert bench.server.requests == [] and bench.client.requests == 0


# -- refusals ------------------------------------------------------------------------------------------

SENTENCES = {
    400: "did not understand",
    401: "set a valid GITHUB_TOKEN",
    403: "the token lacks the permission",
    404: "does not exist, or it is private",
    409: "no commits to read",
    410: "gone for good",
    418: "GitHub refused the request",
    422: "cannot process the name or SHA",
    451: "blocked for legal reasons",
}


@pytest.mark.parametrize(("status", "words"), SENTENCES.items())
async def test_a_refusal_is_said_at_once_in_a_sentence_of_its_own_with_the_servers_words(
    status: int, words: str
) -> None:
    bench = Bench(refused(status, "The server's own words."), threshold=1)
    call = bench.call()
    with pytest.raises(GitHubError) as caught:
        await bench.get(call=call)
    assert caught.value.status == status
    assert words in caught.value.sentence
    assert caught.value.quote == f" (HTTP {status}: The server's own words.)"
    assert caught.value.sentence.endswith(caught.value.quote + ".")
    assert call.attempts == 1 and len(bench.server.requests) == 1
    assert bench.layers.breakers["get_repo_info"].failures == 0 and bench.heard == []


def test_every_refusal_has_a_sentence_of_its_own() -> None:
    assert len(set(SENTENCES.values())) == len(SENTENCES)


async def test_a_block_says_why_and_where_to_read_it() -> None:
    body = {"message": "Repository access blocked", "block": {"reason": "dmca", "html_url": "https://github.com/dmca"}}
    bench = Bench(httpx.Response(451, json=body))
    with pytest.raises(GitHubError) as caught:
        await bench.get()
    assert "(HTTP 451: Repository access blocked; reason: dmca; see https://github.com/dmca)" in caught.value.sentence


@pytest.mark.parametrize(
    "body", [b"", b"<html>No</html>", b"[1, 2]", b'"text"', b'{"message": 5}', b'{"message": null}', b"\xff\xfe\0"]
)
async def test_a_refusal_without_words_is_a_refusal_all_the_same(body: bytes) -> None:
    bench = Bench(httpx.Response(404, content=body))
    with pytest.raises(GitHubError) as caught:
        await bench.get()
    assert caught.value.sentence.endswith("(HTTP 404).")


async def test_the_servers_words_cannot_act_on_a_terminal_and_have_an_end() -> None:
    bench = Bench(refused(404, "\x1b]0;owned\x07 line\nbreak \u202e" + "x" * 5000))
    with pytest.raises(GitHubError) as caught:
        await bench.get()
    sentence = caught.value.sentence
    assert not any(sign in sentence for sign in "\x1b\x07\n\u202e") and len(sentence) < 500


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504, 599])
async def test_5xx_and_what_passes_by_itself_is_trouble_retried_and_counted(status: int) -> None:
    bench = Bench(refused(status, "Server Error"))
    assert await bench.get() == {"x": 1}
    (failed,) = bench.heard.of(AttemptFailed)
    assert (failed.attempt, failed.status, failed.reason) == (1, status, f"HTTP {status}: Server Error")


@pytest.mark.parametrize("status", [300, 304])
async def test_a_status_that_nobody_asked_for_is_trouble(status: int) -> None:
    bench = Bench(httpx.Response(status))
    assert await bench.get() == {"x": 1}
    assert bench.failures() == [f"HTTP {status}"]


# -- secrets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [401, 403, 404, 451, 500])
async def test_a_token_that_the_server_echoes_is_in_no_error_and_no_event(status: int) -> None:
    words = f"Bad credentials: Bearer {TOKEN}"
    bench = Bench(otherwise=httpx.Response(status, json={"message": words, "block": {"reason": TOKEN}}), token=TOKEN)
    with pytest.raises((GitHubError, Trouble)) as caught:
        await bench.get()
    assert TOKEN not in str(caught.value) and "[secret]" in str(caught.value)
    assert TOKEN not in repr(bench.heard)


async def test_a_token_in_an_error_of_the_connection_is_taken_out() -> None:
    bench = Bench(otherwise=httpx.LocalProtocolError(f"Illegal header value b'Bearer {TOKEN}'"), token=TOKEN)
    with pytest.raises(Trouble) as caught:
        await bench.get()
    assert TOKEN not in str(caught.value) and TOKEN not in repr(bench.heard)


def test_a_secret_is_known_in_every_dress() -> None:
    redact = Redactor(["pa/ss wörd\\1", None, "", "short"])
    assert redact("is pa/ss wörd\\1 here") == "is [secret] here"
    assert redact("?k=pa%2Fss%20w%C3%B6rd%5C1") == "?k=[secret]"
    assert redact('{"k": "pa/ss w\\u00f6rd\\\\1"}') == '{"k": "[secret]"}'
    assert redact("b'pa/ss wörd\\\\1'") == "b'[secret]'"
    assert redact("shortly") == "shortly"


def test_the_longer_of_two_secrets_goes_first() -> None:
    secret = "sk-0123456789abcdef"
    assert Redactor([secret, secret + "-more"])(f"{secret}-more, {secret}") == "[secret], [secret]"


def test_secrets_are_taken_out_of_a_whole_result() -> None:
    redact = Redactor([TOKEN])
    result = {"ok": True, "a": [TOKEN, {"b": f"x{TOKEN}"}], TOKEN: 1, "n": None, "f": 1.5}
    assert redact.deep(result) == {
        "ok": True,
        "a": ["[secret]", {"b": "x[secret]"}],
        "[secret]": 1,
        "n": None,
        "f": 1.5,
    }

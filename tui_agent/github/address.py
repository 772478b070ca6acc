"""The ways to name a repository, alone (`parse`) or somewhere in a sentence (`locate`, `find_address`).

Nothing here asks the network: a `tree` or `blob` tail stays unresolved, since only the repository knows where a ref
that holds slashes ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from tui_agent.paths import is_path
from tui_agent.request import UsageError
from tui_agent.safe_text import one_line

PUBLIC_API = "https://api.github.com"
PUBLIC_HOST = "github.com"
WAYS = "write owner/name, a GitHub URL, or the path of a folder that starts with . / or ~"

Kind = Literal["tree", "blob"]

# GitHub's sign-up rule, and the underscore of enterprise-managed users (mona_acme).
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = re.compile(
    r"(?:[A-Za-z0-9._-]+@(?P<host>[A-Za-z0-9.-]+)|(?P<bare>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)):(?!\d+/)(?P<path>.+)"
)
_SCHEMES = frozenset({"http", "https", "ssh", "git", "git+http", "git+https", "git+ssh"})
_ALIASES = frozenset({"github.com", "www.github.com", "ssh.github.com"})
# Pages that name a ref: what they show is one state of the repository, or one file of it.
_TAILS: dict[str, Kind] = {
    "tree": "tree",
    "commit": "tree",
    "commits": "tree",
    "blob": "blob",
    "blame": "blob",
    "raw": "blob",
    "edit": "blob",
}
_PAGES = re.compile(
    "about|apps|collections|contact|customer-stories|enterprise|explore|features|issues|join|login|marketplace"
    "|new|notifications|organizations|orgs|pricing|pulls|search|security|settings|site|sponsors|stars|topics"
    "|trending|users",
    re.IGNORECASE,
)


class AddressError(UsageError):
    """A text that names no repository; one clear sentence."""


@dataclass(frozen=True, slots=True)
class Address:
    """One repository, as it was named.

    Args:
        owner: the account, or "local".
        name: the repository's name without `.git`, or the folder's.
        ref_and_path: what stands behind `/tree/` or `/blob/`, percent-decoded; where the ref ends is not known yet.
        kind: whether that tail named a folder's state ("tree") or a file ("blob").
        local_path: the folder, absolute; None for a repository on a server.
        host: where people see it: "github.com", the Enterprise host (with its port), or "" for a folder.
        named_host: the host that the text itself named, None where it named none. Where it differs from `host`,
            the text is asked of another server than it says, and the person should be told.
    """

    owner: str
    name: str
    ref_and_path: str | None = None
    kind: Kind | None = None
    local_path: Path | None = None
    host: str = PUBLIC_HOST
    named_host: str | None = None

    @property
    def full_name(self) -> str:
        """`owner/name`, or `local/<folder>`."""
        return f"{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class Found:
    """An address within a text: `text[start:end]` is what named it."""

    address: Address
    start: int
    end: int


def web_host(api_url: str) -> str:
    """The host that people see for an API's URL: `https://HOST/api/v3` and `https://api.HOST` both give HOST.

    A port that is not the scheme's own stays. Source: GitHub Enterprise Server and Enterprise Cloud with data
    residency, "Getting started with the REST API".
    """
    parts = urlsplit(api_url)
    host = parts.netloc.rpartition("@")[2].lower()
    host = host.removesuffix({"http": ":80", "https": ":443"}.get(parts.scheme, ":"))
    return host if parts.path.rstrip("/") else host.removeprefix("api.")


def parse(text: str, *, api_url: str = PUBLIC_API, cwd: Path | None = None) -> Address:
    """The repository that a text names; the text is nothing but the address.

    Args:
        text: `owner/name`, a URL on github.com or on the host of `api_url` (scheme, `www.`, `.git`, query, fragment
            and trailing slash do not matter), an ssh form, or the path of a folder that begins with `.`, `/` or `~`.
        api_url: the API that will be asked; `owner/name` and `github.com/…` are asked of it too.
        cwd: what a relative path is relative to; None for the working folder.

    Raises:
        AddressError: with one sentence that says what is wrong and what to write.
    """
    text = text.strip()
    if not text:
        raise AddressError(f"No repository was named: {WAYS}.")
    if is_path(text):
        return _local(text, cwd)
    scheme = _SCHEME.match(text)
    if scheme:
        return _url(text, scheme[1].lower(), api_url)
    scp = _SCP.fullmatch(text)
    if scp:
        return _remote(scp["host"] or scp["bare"], scp["path"], api_url)
    path = re.split(r"[?#]", text, maxsplit=1)[0]
    first, slash, rest = path.partition("/")
    own_host = web_host(api_url)
    is_host = "." in first or ":" in first or "@" in first
    # A host without a dot ("ghe") is one only where an owner and a name follow.
    if slash and (is_host or (first.lower() == own_host and "/" in rest.strip("/"))):
        return _remote(first, rest, api_url)
    segments = _segments(path)
    if len(segments) < 2 or (len(segments) > 2 and segments[2] not in ("tree", "blob")):
        raise AddressError(f"{_quoted(text)} names no repository: {_hint(text, cwd)}.")
    return _address(segments, own_host, None)


def _hint(text: str, cwd: Path | None) -> str:
    """What to write instead; where a folder of that name exists, its path."""
    try:
        is_folder = ((cwd or Path.cwd()) / text).is_dir()
    except (OSError, ValueError):
        is_folder = False
    return f"for the folder of that name write {_quoted(f'./{text}')}" if is_folder else WAYS


def _quoted(text: str) -> str:
    """The text in quotes, short and safe, without a password that a URL may hold."""
    text = re.sub(r"(?<=//)[^/?#@\s]*@", "", text)
    return f'"{one_line(text, 80)}"'


def _segments(path: str) -> list[str]:
    """The parts of a path, empty ones dropped, not yet decoded."""
    return [part for part in path.split("/") if part]


def _url(text: str, scheme: str, api_url: str) -> Address:
    """A full URL; user, password, query and fragment are left out."""
    if scheme not in _SCHEMES:
        raise AddressError(f"{_quoted(text)} is no address of a repository: {WAYS}.")
    rest = text.partition("://")[2]
    authority, _, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return _remote(authority, path, api_url)


def _remote(authority: str, path: str, api_url: str) -> Address:
    """A repository by host (a user and a port may stand there) and path."""
    own_host = web_host(api_url)
    named = authority.rpartition("@")[2].lower()
    hostname = re.sub(r":\d*$", "", named)
    if hostname in _ALIASES:
        named = PUBLIC_HOST
    elif hostname in (_bare(own_host), f"www.{_bare(own_host)}"):
        named = own_host
    else:
        readable = PUBLIC_HOST if own_host == PUBLIC_HOST else f"{PUBLIC_HOST} and {own_host}"
        hint = "" if own_host != PUBLIC_HOST else " (GITHUB_API_URL names another GitHub server)"
        raise AddressError(
            f"Only repositories on {readable} can be read{hint}, and {_quoted(hostname)} is another host."
        )
    return _address(_segments(re.split(r"[?#]", path, maxsplit=1)[0]), own_host, named)


def _bare(host: str) -> str:
    """A host without its port."""
    return re.sub(r":\d+$", "", host)


def _address(segments: list[str], host: str, named_host: str | None) -> Address:
    """The address that the parts of a path make."""
    where = named_host or "GitHub"
    if len(segments) < 2:
        if not segments:
            raise AddressError(f"No repository was named on {where}: write owner/name behind it.")
        raise AddressError(f"{_quoted(segments[0])} is an owner without a repository: write owner/name.")
    owner, name = unquote(segments[0]), unquote(segments[1])
    if not _OWNER.fullmatch(owner):
        raise AddressError(f"{_quoted(owner)} cannot be an owner on {where}: letters, digits and hyphens, at most 39.")
    if named_host is not None and _PAGES.fullmatch(owner):
        raise AddressError(f"{_quoted(f'{owner}/{name}')} is a page of {where}, not a repository: write owner/name.")
    if name.lower().endswith(".git"):
        name = name[:-4]
    if not _NAME.fullmatch(name):
        raise AddressError(
            f"{_quoted(name)} cannot be a repository's name: letters, digits, dots, hyphens, underscores, at most 100."
        )
    tail = unquote("/".join(segments[3:])).strip("/")
    kind = _TAILS.get(segments[2]) if tail else None
    return Address(owner, name, tail if kind else None, kind, None, host, named_host)


def _local(text: str, cwd: Path | None) -> Address:
    """A folder on this machine; it has to be there and readable."""
    shown = _quoted(text)
    if "\0" in text:
        raise AddressError(f"{shown} is no path of a folder.")
    try:
        typed = Path(text).expanduser()
    except RuntimeError:
        raise AddressError(f"The home folder in {shown} is not known.") from None
    try:
        path = (cwd or Path.cwd()) / typed
        # The name a person typed counts, even where it is a link to another.
        path = path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name
        if not path.exists():
            raise AddressError(f"There is no folder {shown}.")
        if not path.is_dir():
            raise AddressError(f"{shown} is a file: name the folder of its repository.")
        if not os.access(path, os.R_OK | os.X_OK):
            raise AddressError(f"The folder {shown} may not be read.")
    except OSError as error:
        raise AddressError(f"The folder {shown} cannot be opened: {(error.strerror or 'unknown').lower()}.") from None
    except (RuntimeError, UnicodeError):  # a loop of links; a name that no file system can hold
        raise AddressError(f"{shown} is no path of a folder.") from None
    return Address("local", path.name or "root", None, None, path, "", None)


def find_address(
    query: str, *, api_url: str = PUBLIC_API, cwd: Path | None = None, local: bool = True, eager: bool = False
) -> Address | None:
    """The first address in free text, or None; the rules are `locate`'s."""
    found = locate(query, api_url=api_url, cwd=cwd, local=local, eager=eager)
    return found.address if found else None


def locate(
    query: str, *, api_url: str = PUBLIC_API, cwd: Path | None = None, local: bool = True, eager: bool = False
) -> Found | None:
    """The first address in free text and where it stands, punctuation behind it left out (full-width too).

    A URL, `github.com/owner/name` and the ssh forms count anywhere; so does the path of a folder that exists. A bare
    `owner/name` counts where little else can be meant: as the whole text; as the first word; behind a word that asks
    for an analysis ("分析", "analyse"); or before "repository", "仓库" and the like. Even then "and/or", "CI/CD",
    "2024/05", "src/app" and "flask/app.py" are words, not repositories.

    Args:
        query: what a person wrote.
        api_url: as for `parse`.
        cwd: as for `parse`.
        local: whether folders of this machine may be named.
        eager: whether a bare `owner/name` counts anywhere, as where the text has to name a repository and nothing
            else could be meant by it; words such as those above do not count even then.
    """
    for begin, end in (*_whole(query, local), *_candidates(query, web_host(api_url), local, eager)):
        try:
            return Found(parse(query[begin:end], api_url=api_url, cwd=cwd), begin, end)
        except AddressError:
            continue
    return None


_OPENING = r"""\s"'`“‘「『《〈【（(<\[*"""
_CLOSING = "\"'`”’」』》〉】）)>]}*,.;:!?，。；：！？、…~|"
_URL = r"A-Za-z0-9._~!$&'()*+,;=:@%/\-"
_BARE = re.compile(
    r"(?<![\w.@/\\:$%=&*#~+-])([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]++)/?+(?![\w/@\\=*+-]|:\w)", re.ASCII
)
# A folder of this machine within a sentence; it counts where it exists.
_PATH = re.compile(r"(?<![A-Za-z0-9_./~:-])(?:\.{1,2}|~)?/[^\s，。；：！？、“”‘’\"'`（）()「」『』《》]+")
_FIRST_WORD = re.compile(rf"[{_OPENING}]*")
_ASKED_BEFORE = re.compile(
    r"(?:(?:\b(?:analy[sz]e|analysis of|audit|compare|describe|examine|explore|inspect|investigate|look (?:at|into)"
    r"|report on|review|study|summari[sz]e|survey|tell me about)(?: the)?(?: github)?(?: repo(?:sitory)?| project)?"
    r"|\brepo(?:sitory)?|\bproject)\s*:?\s"
    r"|(?:分析|剖析|研究|调研|评估|总结|概述|介绍|了解|审查|审计|探索|比较|对比|看看|看一下|看下)(?:一下|一遍|下)?(?:这个)?"
    rf"(?:仓库|项目|代码库)?[:：]?|仓库[:：]?|项目[:：]?|代码库[:：]?)[{_OPENING}]*$",
    re.IGNORECASE,
)
_ASKED_BEHIND = re.compile(
    rf"[{re.escape(_CLOSING)}]?\s*(?:的|这个)?\s*(?:仓库|项目|代码库|源码|(?:repo|repository|project|codebase)\b)",
    re.IGNORECASE,
)
_FOLDERS = re.compile(
    "api|app|apps|assets|bin|build|client|cmd|common|components|conf|config|core|data|dist|doc|docs|etc|example"
    "|examples|ext|home|include|internal|lib|libs|main|modules|notebooks|opt|packages|pages|pkg|plugins|public"
    "|resources|scripts|server|services|source|src|static|styles|templates|test|tests|third_party|tmp|tools|usr"
    "|util|utils|var|vendor|web|www",
    re.IGNORECASE,
)
_PAIRS = re.compile(
    "and/or|async/await|backend/frontend|before/after|client/server|command/query|decode/encode|either/or"
    "|encode/decode|frontend/backend|get/set|he/she|his/her|import/export|input/output|key/value|left/right"
    "|linux/macos|macos/linux|map/reduce|name/owner|on/off|open/close|or/and|owner/name|owner/repo|pass/fail"
    "|password/username|producer/consumer|pros/cons|publish/subscribe|push/pull|read/write|request/response"
    "|she/he|start/stop|success/failure|tcp/ip|true/false|try/catch|try/except|unix/linux|up/down|user/password"
    "|user/repo|username/password|windows/linux|write/read|yes/no",
    re.IGNORECASE,
)
_FILES = re.compile(
    r".+\.(?:bash|bat|bib|c|cc|cfg|cmake|conf|cpp|cs|css|csv|cxx|dart|env|ex|exs|gif|go|gradle|h|hpp|hs|html?|ini|ipynb"
    r"|java|jpe?g|js|json|jsx|kts?|less|lock|lua|m|md|mdx|mjs|php|pl|png|proto|ps1|py|pyi|pyx|r|rb|rs|rst|s|sass|scala"
    r"|scss|sh|sql|svelte|svg|swift|tex|toml|tsx?|txt|vue|xml|ya?ml|zig)",
    re.IGNORECASE,
)
# Repositories known by a name that ends like a file; any other such name needs to stand alone or in a URL.
_NAMED_LIKE_FILES = re.compile(
    r"alpine\.js|backbone\.js|brain\.js|chart\.js|d3\.js|discord\.js|discord\.py|ember\.js|express\.js|ggml\.c"
    r"|hls\.js|llama\.cpp|llama2\.c|moment\.js|next\.js|node\.js|nuxt\.js|p5\.js|pdf\.js|react\.js|sherlock\.py"
    r"|socket\.io-client\.js|stable-diffusion\.cpp|three\.js|video\.js|vue\.js|web\.py|whisper\.cpp",
    re.IGNORECASE,
)


def _trimmed(text: str) -> str:
    """The text without the punctuation of the sentence around it."""
    return text.lstrip(_CLOSING + "“‘「『《〈【（(<[").rstrip(_CLOSING)


def _whole(query: str, local: bool) -> Iterator[tuple[int, int]]:
    """The whole text, where it can be nothing but an address: "and/or" alone, yes; "CI/CD?", no."""
    text = query.strip()
    if is_path(text):
        if local:
            yield query.find(text), query.find(text) + len(text)
        return
    trimmed = _trimmed(text)
    owner, _, name = trimmed.partition("/")
    if not re.search(r"\s", trimmed) and (trimmed == text or "/" in name or not _is_wording(owner, name)):
        yield query.find(trimmed), query.find(trimmed) + len(trimmed)


def _is_wording(owner: str, name: str) -> bool:
    """Whether `owner/name` in a sentence more likely is a pair of words, a date or a path."""
    pair = f"{owner}/{name}"
    return (
        len(owner) < 2
        or len(name) < 2
        or owner.isdigit()
        or name.isdigit()
        or (pair.isupper() and len(pair) <= 9)
        or _FOLDERS.fullmatch(owner) is not None
        or _PAIRS.fullmatch(pair) is not None
        or name.startswith(("_", "."))
        or (_FILES.fullmatch(name) is not None and _NAMED_LIKE_FILES.fullmatch(name) is None)
    )


def _candidates(query: str, own_host: str, local: bool, eager: bool) -> Iterator[tuple[int, int]]:
    """Where addresses may stand, first ones first."""
    hosts = "|".join(re.escape(host) for host in dict.fromkeys((own_host, _bare(own_host), PUBLIC_HOST)))
    host = rf"(?:www\.|ssh\.)?(?:{hosts})"
    named = re.compile(
        rf"(?<![A-Za-z0-9_.@/-])"
        rf"(?:(?:[A-Za-z][A-Za-z0-9+]*://(?:[^\s/@]+@)?)?{host}(?::\d+)?/|[A-Za-z0-9._-]+@{host}:/?)"
        rf"[A-Za-z0-9_-]+/[A-Za-z0-9._%-]+(?:/[{_URL}]*)?(?:\?[{_URL}?]*)?(?:#[{_URL}?]*)?",
        re.IGNORECASE,
    )
    spans = [(m.start(), m.start() + len(m.group().rstrip(_CLOSING))) for m in named.finditer(query)]
    first = _FIRST_WORD.match(query)
    begin = first.end() if first else 0
    if local and query[begin : begin + 1] in ("/", ".", "~"):
        for stop in (r"[^\s，。；：！？、]+", r"[^\s，。；：！？、,;:!?]+"):
            word = re.match(stop, query[begin:])
            if word:
                spans.append((begin, begin + len(word.group().rstrip("\"'`”’」』》〉】）)>]},;:!?"))))
    if local:
        for path in _PATH.finditer(query, 0, 10_000):
            named_path = path.group().rstrip(_CLOSING.replace(".", ""))
            # Chinese leaves no blank behind a name, and may itself be one
            latin = re.match("[!-~]*", named_path)
            ends = {len(named_path), len(latin.group()) if latin else 0}
            spans += [(path.start(), path.start() + end) for end in sorted(ends, reverse=True) if end]
    # A pasted log of megabytes holds slashes without end; a request stands at a text's beginning.
    for match in _BARE.finditer(query, 0, 10_000):
        owner, name = match[1], match[2].rstrip(".")
        end = match.start(2) + len(name)
        if not _is_wording(owner, name) and (
            eager
            or match.start() == begin
            or _ASKED_BEFORE.search(query[max(match.start() - 80, 0) : match.start()])
            or _ASKED_BEHIND.match(query, end)
        ):
            spans.append((match.start(), end))
    return iter(sorted(spans, key=lambda span: span[0]))

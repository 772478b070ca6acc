"""Every way to name a repository, and the sentences that name none."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.github.address import Address, AddressError, find_address, locate, parse, web_host
from tui_agent.request import UsageError

ENTERPRISE = "https://git.example.org/api/v3"


@pytest.mark.parametrize(
    "text",
    [
        "pallets/flask",
        "  pallets/flask\n",
        "pallets/flask/",
        "pallets/flask.git",
        "https://github.com/pallets/flask",
        "http://github.com/pallets/flask",
        "https://github.com/pallets/flask/",
        "https://github.com/pallets/flask.git",
        "https://www.github.com/pallets/flask",
        "HTTPS://GitHub.com/pallets/flask",
        "https://github.com/pallets/flask?tab=readme-ov-file",
        "https://github.com/pallets/flask#readme",
        "https://github.com/pallets/flask/?a=b#c",
        "https://github.com//pallets//flask",
        "https://github.com/pallets/flask/tree/",
        "https://github.com/pallets/flask/issues/5000",
        "https://github.com:443/pallets/flask",
        "https://user:secret@github.com/pallets/flask",
        "github.com/pallets/flask",
        "www.github.com/pallets/flask/",
        "github.com/pallets/flask?x#y",
        "git@github.com:pallets/flask.git",
        "git@github.com:pallets/flask",
        "git@github.com:/pallets/flask.git",
        "github.com:pallets/flask",
        "ssh://git@github.com/pallets/flask.git",
        "ssh://git@github.com:22/pallets/flask.git",
        "ssh://git@ssh.github.com:443/pallets/flask.git",
        "git://github.com/pallets/flask.git",
        "git+https://github.com/pallets/flask.git",
    ],
)
def test_every_way_to_name_a_repository_gives_its_owner_and_name(text: str) -> None:
    address = parse(text)
    assert (address.owner, address.name) == ("pallets", "flask")
    assert address.full_name == "pallets/flask"
    assert address.host == "github.com"
    assert (address.ref_and_path, address.kind, address.local_path) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("vercel/next.js", "next.js"),
        ("https://github.com/vercel/next.js", "next.js"),
        ("https://github.com/vercel/next.js.git", "next.js"),
        ("git@github.com:vercel/next.js.git", "next.js"),
        ("github/.github", ".github"),
        ("owner/_under_score-", "_under_score-"),
        ("owner/" + "n" * 100, "n" * 100),
        ("owner/...", "..."),
    ],
)
def test_names_may_hold_dots_hyphens_and_underscores(text: str, name: str) -> None:
    assert parse(text).name == name


@pytest.mark.parametrize("owner", ["a", "A1", "a-b", "a" * 39, "mona_acme", "1"])
def test_owners_follow_githubs_rule(owner: str) -> None:
    assert parse(f"{owner}/x").owner == owner


@pytest.mark.parametrize(
    ("tail", "kind", "rest"),
    [
        ("/tree/main", "tree", "main"),
        ("/tree/main/", "tree", "main"),
        ("/tree/feature/with/slashes/src/flask", "tree", "feature/with/slashes/src/flask"),
        ("/blob/main/docs/a%20file%23.md", "blob", "main/docs/a file#.md"),
        ("/blob/main/%E6%96%87%E6%A1%A3.md#L10-L20", "blob", "main/文档.md"),
        ("/blob/main/文档.md", "blob", "main/文档.md"),
        ("/blob/main/README.md?plain=1", "blob", "main/README.md"),
        ("/tree/100%25", "tree", "100%"),
        ("/commit/0a1b2c3", "tree", "0a1b2c3"),
        ("/commits/v1.0", "tree", "v1.0"),
        ("/blame/main/setup.py", "blob", "main/setup.py"),
    ],
)
def test_a_tail_is_decoded_once_and_left_unresolved(tail: str, kind: str, rest: str) -> None:
    for start in ("https://github.com/pallets/flask", "github.com/pallets/flask"):
        address = parse(start + tail)
        assert (address.full_name, address.kind, address.ref_and_path) == ("pallets/flask", kind, rest)


def test_a_tail_behind_a_short_name_counts_too() -> None:
    address = parse("pallets/flask/tree/stable/src")
    assert (address.full_name, address.kind, address.ref_and_path) == ("pallets/flask", "tree", "stable/src")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "No repository was named"),
        ("   ", "No repository was named"),
        ("flask", '"flask" names no repository'),
        ("src/app/main.py", '"src/app/main.py" names no repository'),
        ("https://github.com", "No repository was named on github.com"),
        ("https://github.com/pallets", "an owner without a repository"),
        ("https://gitlab.com/a/b", '"gitlab.com" is another host'),
        ("gitlab.com/a/b", '"gitlab.com" is another host'),
        ("git@gitlab.com:a/b.git", '"gitlab.com" is another host'),
        ("https://github.com.evil.org/a/b", '"github.com.evil.org" is another host'),
        ("https://github.com@evil.org/a/b", '"evil.org" is another host'),
        ("https://gist.github.com/a/b", '"gist.github.com" is another host'),
        ("ftp://github.com/a/b", "is no address of a repository"),
        ("javascript://github.com/a/b", "is no address of a repository"),
        ("-owner/name", "cannot be an owner"),
        ("ow ner/name", "cannot be an owner"),
        ("a" * 40 + "/name", "cannot be an owner"),
        ("仓库/name", "cannot be an owner"),
        ("owner/na me", "cannot be a repository's name"),
        ("owner/名字", "cannot be a repository's name"),
        ("owner/.git", "cannot be a repository's name"),
        ("owner/..", "cannot be a repository's name"),
        ("https://github.com/owner/%2e%2e", "cannot be a repository's name"),
        ("https://github.com/owner%2Fname/x", "cannot be an owner"),
        ("owner/" + "n" * 101, "cannot be a repository's name"),
        ("https://github.com/orgs/pallets/repositories", "is a page of github.com"),
        ("https://github.com/topics/python", "is a page of github.com"),
    ],
)
def test_what_names_no_repository_is_told_in_one_sentence(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(AddressError) as caught:
        parse(text, cwd=tmp_path)
    message = str(caught.value)
    assert words in message
    assert message.endswith(".") and "\n" not in message and len(message) < 260
    assert isinstance(caught.value, UsageError)


def test_an_error_shows_no_password_and_no_escape_sequence() -> None:
    with pytest.raises(AddressError) as caught:
        parse("ftp://me:hunter2@github.com/a/b")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(AddressError) as caught:
        parse("pallets/\x1b[31mflask")
    assert "\x1b" not in str(caught.value) and "␛" in str(caught.value)


@pytest.mark.parametrize(
    ("api_url", "host"),
    [
        ("https://api.github.com", "github.com"),
        ("https://api.github.com/", "github.com"),
        ("https://git.example.org/api/v3", "git.example.org"),
        ("https://git.example.org/api/v3/", "git.example.org"),
        ("https://Git.Example.org:8443/api/v3", "git.example.org:8443"),
        ("https://git.example.org:443/api/v3", "git.example.org"),
        ("https://api.octocorp.ghe.com", "octocorp.ghe.com"),
        ("https://api.corp.net/api/v3", "api.corp.net"),
        ("http://127.0.0.1:4567", "127.0.0.1:4567"),
        ("https://ghe/api/v3", "ghe"),
    ],
)
def test_an_api_url_tells_the_host_that_people_see(api_url: str, host: str) -> None:
    assert web_host(api_url) == host


@pytest.mark.parametrize(
    "text",
    [
        "https://git.example.org/team/tool",
        "https://git.example.org:8443/team/tool",
        "git.example.org/team/tool/",
        "git@git.example.org:team/tool.git",
        "ssh://git@git.example.org:7999/team/tool.git",
    ],
)
def test_a_url_on_the_enterprise_host_is_accepted(text: str) -> None:
    address = parse(text, api_url=ENTERPRISE)
    assert (address.full_name, address.host, address.named_host) == ("team/tool", "git.example.org", "git.example.org")
    with pytest.raises(AddressError, match="another host"):
        parse(text)


def test_short_names_and_github_urls_are_asked_of_the_enterprise_host_too() -> None:
    short = parse("team/tool", api_url=ENTERPRISE)
    assert (short.host, short.named_host) == ("git.example.org", None)
    url = parse("https://github.com/team/tool", api_url=ENTERPRISE)
    assert (url.host, url.named_host) == ("git.example.org", "github.com")


def test_an_enterprise_host_without_a_dot_works() -> None:
    assert parse("ghe/team/tool", api_url="https://ghe/api/v3").full_name == "team/tool"
    assert parse("git@ghe:team/tool.git", api_url="https://ghe/api/v3").full_name == "team/tool"
    assert parse("ghe/tool", api_url="https://ghe/api/v3").full_name == "ghe/tool"


def test_a_foreign_host_is_told_with_the_one_that_is_read() -> None:
    with pytest.raises(AddressError, match=r"github\.com and git\.example\.org can be read"):
        parse("https://gitlab.com/a/b", api_url=ENTERPRISE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pallets" / "flask").mkdir(parents=True)
    (tmp_path / "a folder.d").mkdir()
    (tmp_path / "文件夹").mkdir()
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("./pallets", "pallets"),
        ("./pallets/", "pallets"),
        ("./pallets/flask", "flask"),
        ("./pallets/flask/..", "pallets"),
        ("~/pallets/flask", "flask"),
        ("./a folder.d", "a folder.d"),
        ("./文件夹", "文件夹"),
    ],
)
def test_a_folder_is_named_local_and_by_its_last_part(text: str, name: str, home: Path) -> None:
    address = parse(text, cwd=home)
    assert address.full_name == f"local/{name}"
    assert address.local_path is not None and address.local_path.is_absolute() and address.local_path.is_dir()
    assert address.host == ""


def test_the_working_folder_and_absolute_paths_are_folders_too(home: Path) -> None:
    assert parse(".", cwd=home).full_name == f"local/{home.name}"
    assert parse("..", cwd=home / "pallets").local_path == home
    assert parse(str(home)).local_path == home
    assert parse("~").local_path == home
    assert parse("/").full_name == "local/root"


def test_a_link_to_a_folder_keeps_the_name_that_was_typed(home: Path) -> None:
    (home / "link").symlink_to(home / "pallets")
    assert parse("./link", cwd=home).full_name == "local/link"


def test_a_text_that_could_be_both_is_a_repository_on_github(home: Path) -> None:
    address = parse("pallets/flask", cwd=home)
    assert address.local_path is None and address.host == "github.com"


def test_a_folder_without_its_dot_is_pointed_to(home: Path) -> None:
    with pytest.raises(AddressError, match=r'write "\./pallets"'):
        parse("pallets", cwd=home)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("./nowhere", 'There is no folder "./nowhere"'),
        ("/no/such/place", "There is no folder"),
        ("./file.txt", '"./file.txt" is a file'),
        ("./file.txt/x", "There is no folder"),
        ("~nobody-of-that-name/x", "home folder"),
        ("./" + "x" * 5000, "cannot be opened"),
        ("./nul\0byte", "is no path"),
        ("./\ud800", "folder"),
        ("./loop/x", "loop"),
    ],
)
def test_a_folder_that_cannot_be_read_is_told_plainly(text: str, words: str, home: Path) -> None:
    with pytest.raises(AddressError) as caught:
        parse(text, cwd=home)
    assert words in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_told_plainly(home: Path) -> None:
    (home / "pallets").chmod(0)
    try:
        for text in ("./pallets", "./pallets/flask"):
            with pytest.raises(AddressError):
                parse(text, cwd=home)
    finally:
        (home / "pallets").chmod(0o700)


FLASK = Address("pallets", "flask", named_host="github.com")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("分析 https://github.com/pallets/flask", "https://github.com/pallets/flask"),
        ("分析 https://github.com/pallets/flask。", "https://github.com/pallets/flask"),
        ("分析https://github.com/pallets/flask,看看架构", "https://github.com/pallets/flask"),
        ("请分析https://github.com/pallets/flask的架构。", "https://github.com/pallets/flask"),
        ("(https://github.com/pallets/flask)", "https://github.com/pallets/flask"),
        ("see [flask](https://github.com/pallets/flask), please", "https://github.com/pallets/flask"),
        ("What is https://github.com/pallets/flask?", "https://github.com/pallets/flask"),
        ("Is https://github.com/pallets/flask's routing fast?", "https://github.com/pallets/flask"),
        ("《https://github.com/pallets/flask》", "https://github.com/pallets/flask"),
        ("repo:github.com/pallets/flask.", "github.com/pallets/flask"),
        ("clone git@github.com:pallets/flask.git, then report", "git@github.com:pallets/flask.git"),
        ("https://github.com/pallets/flask/?tab=readme#x 怎么用", "https://github.com/pallets/flask/?tab=readme#x"),
        (
            "first https://github.com/orgs/pallets/people then www.github.com/pallets/flask",
            "www.github.com/pallets/flask",
        ),
        ("not https://gitlab.com/a/b but https://github.com/pallets/flask!", "https://github.com/pallets/flask"),
    ],
)
def test_a_url_counts_anywhere_in_a_text(query: str, named: str) -> None:
    found = locate(query)
    assert found is not None
    assert found.address == FLASK
    assert query[found.start : found.end] == named


def test_a_tail_in_a_text_is_kept_without_the_punctuation_behind_it() -> None:
    found = locate("分析 https://github.com/pallets/flask/blob/main/src/flask/app.py、谢谢")
    assert found is not None
    assert (found.address.kind, found.address.ref_and_path) == ("blob", "main/src/flask/app.py")


@pytest.mark.parametrize(
    "query",
    [
        "pallets/flask",
        " pallets/flask。",
        "pallets/flask 用什么?",
        "pallets/flask用什么?",
        "pallets/flask的架构",
        "pallets/flask: what is it",
        '"pallets/flask" 用什么?',
        "分析 pallets/flask",
        "分析pallets/flask,要详细",
        "请分析一下pallets/flask的架构",
        "请帮我看看 pallets/flask。",
        "Please analyse pallets/flask.",
        "Analyze the repository pallets/flask in depth",
        "Tell me about `pallets/flask`!",
        "Report on the repo: pallets/flask",
        "How old is the pallets/flask repository?",
        "我想了解 pallets/flask 仓库",
        "compare pallets/flask and encode/httpx",
    ],
)
def test_a_short_name_counts_alone_first_or_where_it_is_asked_for(query: str) -> None:
    found = locate(query)
    assert found is not None
    assert found.address.full_name == "pallets/flask"
    assert query[found.start : found.end] == "pallets/flask"


@pytest.mark.parametrize("name", ["vercel/next.js", "ggml-org/llama.cpp", "Rapptz/discord.py", "vuejs/vue.js"])
def test_known_names_that_end_like_a_file_count_in_a_text(name: str) -> None:
    for query in (f"分析 {name}", f"{name} 用什么?", name):
        address = find_address(query)
        assert address is not None and address.full_name == name


def test_alone_any_name_is_taken_at_its_word() -> None:
    for query in ("golang/x", "someone/tool.py", "2024/05", "docs/api"):
        address = find_address(query)
        assert address is not None and address.full_name == query


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "hello",
        "这个项目是做什么的?",
        "routes and/or views, how do they work?",
        "and/or what?",
        "src/app.py 是做什么的?",
        "src/app 里有什么",
        "explain src/flask/app.py",
        "分析 src/app",
        "分析 flask/app.py",
        "review tests/unit please",
        "since 2024/05 how many commits?",
        "2024/05/01 之后有多少提交",
        "2024/05 之后有多少提交",
        "CI/CD 怎么做的?",
        "CI/CD?",
        "CI/CD。",
        "I/O 模型是什么?",
        "TCP/IP or UDP?",
        "is async/await used?",
        "async/await 用得多吗",
        "how does the client/server part work",
        "24/7 support?",
        "how does flask/json encode",
        "install @scope/pkg",
        "http://example.org/pallets/flask",
        "gitlab.com/a/b is nice",
        "https://gist.github.com/a/b",
        "https://evil.org/github.com/pallets/flask",
        "notgithub.com/pallets/flask",
        "https://github.com/pallets is an organisation",
        "$HOME/src a/b/c x/y/z",
        "/help",
        "... and?",
        "./nowhere at all",
        "owner/repo",
    ],
)
def test_words_dates_and_paths_in_a_text_are_no_repositories(query: str, tmp_path: Path) -> None:
    found = locate(query, cwd=tmp_path)
    if query == "owner/repo":  # alone, it is taken at its word
        assert found is not None
    else:
        assert found is None


def test_a_folder_counts_as_the_whole_text_or_its_first_word_too(home: Path) -> None:
    for query in ("./pallets", "./pallets 用什么?", "./pallets,用什么", "~/pallets: what is it", "./a folder.d"):
        address = find_address(query, cwd=home)
        assert address is not None and address.local_path is not None


def test_folders_can_be_left_out(home: Path) -> None:
    for query in ("./pallets", "~", "/ what", "/", "./pallets 用什么?"):
        assert find_address(query, cwd=home, local=False) is None


def test_the_first_address_counts() -> None:
    address = find_address("compare https://github.com/encode/httpx with https://github.com/pallets/flask")
    assert address is not None and address.full_name == "encode/httpx"


def test_the_enterprise_host_counts_in_a_text() -> None:
    address = find_address("分析 git.example.org/team/tool。", api_url=ENTERPRISE)
    assert address is not None and (address.full_name, address.host) == ("team/tool", "git.example.org")
    address = find_address("分析 http://127.0.0.1:4567/team/tool。", api_url="http://127.0.0.1:4567")
    assert address is not None and address.full_name == "team/tool"


@given(st.text(max_size=60) | st.text(alphabet="ab/.:@-#?%~ 分。githubcom" + string.punctuation, max_size=60))
def test_any_text_is_an_address_or_one_clear_sentence(text: str) -> None:
    try:
        address = parse(text)
    except AddressError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        assert address.local_path or len(address.owner) <= 39
    found = locate(text)
    assert found is None or 0 <= found.start < found.end <= len(text)


def test_a_long_pasted_text_is_searched_quickly() -> None:
    for piece in ("a", "how ab/cd ", "analyse x/y ", "https://", "a@", "./", "github.com/", "。"):
        assert find_address(piece * (400_000 // len(piece)), local=False) is None


@pytest.mark.parametrize(
    "query",
    [
        "How does pallets/flask route requests?",
        "What is pallets/flask?",
        "explain pallets/flask to me",
        "帮我看 pallets/flask",
    ],
)
def test_where_a_text_has_to_name_a_repository_a_bare_name_counts_anywhere(query: str) -> None:
    assert find_address(query) is None
    found = find_address(query, eager=True)
    assert found is not None and found.full_name == "pallets/flask"


@pytest.mark.parametrize("query", ["is it fast and/or small?", "where is src/app.py?", "does CI/CD run on 2024/05?"])
def test_words_are_no_repositories_even_then(query: str) -> None:
    assert find_address(query, eager=True) is None


@pytest.mark.parametrize(
    "query", ["What does {} do?", "看看{}吧", "请分析 {} 的结构。", 'look at "{}"', "compare {} and ./b"]
)
def test_a_folder_that_exists_counts_anywhere(query: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for path in ("./plain", str(tmp_path / "plain")):
        text = query.format(path)
        found = locate(text, cwd=tmp_path)
        assert found is not None and found.address.local_path == (tmp_path / "plain").resolve()
        assert text[found.start : found.end] == path
    assert locate(query.format("./none"), cwd=tmp_path) is None

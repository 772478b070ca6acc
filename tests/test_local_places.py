"""Whatever kind of git repository a path names, it is read, or one plain sentence says why it cannot be."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.repos import commit, git, make_repo, sha, write
from tests.test_local_git import Asker, listed, listed_by_git
from tui_agent.transports.local_git import LocalRepositoryError, LocalTransport
from tui_agent.transports.local_git_objects import DiskObjects
from tui_agent.transports.local_source import Stop


@pytest.fixture(autouse=True)
def enclosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository around the temporary folder is found."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repo(
        tmp_path / "project", [("Begin", {"a.txt": "a\n", "src/b.py": "b\n"}), ("Go on", {"a.txt": "aa\n"})]
    )


def refused(path: Path) -> str:
    """The sentence with which a path is refused."""
    with pytest.raises(LocalRepositoryError) as caught:
        LocalTransport.open(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


async def assert_read(transport: LocalTransport, repository: Path, commit_sha: str) -> None:
    ask = Asker(transport)
    assert transport.kind == "git"
    assert await ask.commit_of("HEAD") == commit_sha
    assert listed(await ask.json("/git/trees/HEAD?recursive=1")) == listed_by_git(repository, commit_sha)


# --- where a repository may be


async def test_a_folder_within_a_repository_stands_for_the_whole(project: Path) -> None:
    transport = LocalTransport.open(project / "src")
    assert (transport.name, transport.root) == ("local/project", project)
    await assert_read(transport, project, sha(project))


async def test_a_symbolic_link_to_a_repository_is_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(project / "src")
    assert LocalTransport.open(tmp_path / "short").name == "local/project"


async def test_its_git_folder_stands_for_the_repository(project: Path) -> None:
    transport = LocalTransport.open(project / ".git")
    assert transport.name == "local/project"
    await assert_read(transport, project, sha(project))


async def test_a_bare_repository(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "project", "mirror.git")
    transport = LocalTransport.open(tmp_path / "mirror.git")
    assert transport.name == "local/mirror.git"
    await assert_read(transport, project, sha(project))
    assert (await Asker(transport).json())["local"]["bare"] is True
    assert await transport.uncommitted_changes() == 0


async def test_a_linked_worktree_has_its_own_head_and_the_repositorys_refs(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "-b", "topic", "../linked", "HEAD~1")
    git(project, "pack-refs", "--all")
    transport = LocalTransport.open(tmp_path / "linked")
    assert transport.name == "local/linked"
    await assert_read(transport, project, sha(project, "HEAD~1"))
    about = await Asker(transport).json()
    assert (about["default_branch"], about["local"]["branch"]) == ("topic", "topic")
    assert await Asker(transport).commit_of("main") == sha(project)
    assert await transport.uncommitted_changes() == 0
    write(tmp_path / "linked", {"new.txt": "new"})
    assert await transport.uncommitted_changes() == 1


async def test_a_worktree_of_a_bare_repository_is_not_bare(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "project", "hub/.git")
    git(tmp_path / "hub", "worktree", "add", "-q", "tree", "main")
    transport = LocalTransport.open(tmp_path / "hub" / "tree")
    write(tmp_path / "hub" / "tree", {"a.txt": "changed"})
    assert await transport.uncommitted_changes() == 1
    assert (await Asker(LocalTransport.open(tmp_path / "hub")).json())["local"]["bare"] is True


async def test_a_submodules_checkout_is_a_repository_of_its_own(project: Path, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", [("Begin", {"x": "x"})])
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(project), "libs/inner")
    transport = LocalTransport.open(outer / "libs" / "inner" / "src")
    assert transport.root == outer / "libs" / "inner"
    await assert_read(transport, project, sha(project))
    assert await transport.uncommitted_changes() == 0


async def test_a_detached_head(project: Path) -> None:
    git(project, "checkout", "-q", "--detach", "HEAD~1")
    about = await Asker(project).json()
    assert about["local"] == {"kind": "git", "bare": False, "detached": True, "branch": None}
    assert about["default_branch"] == "main"
    await assert_read(LocalTransport.open(project), project, sha(project))


async def test_packed_refs_and_packed_objects(project: Path) -> None:
    git(project, "tag", "-a", "v1", "-m", "one")
    git(project, "gc", "-q")
    await assert_read(LocalTransport.open(project), project, sha(project))
    ask = Asker(project)
    assert [item["commit"]["sha"] for item in await ask.json("/tags")] == [sha(project)]
    commit(project, "Later", {"c": "c"})
    assert await ask.commit_of("main") == sha(project), "a loose ref goes before a packed one"


async def test_a_head_that_is_a_symbolic_link(project: Path) -> None:
    (project / ".git" / "HEAD").unlink()
    (project / ".git" / "HEAD").symlink_to("refs/heads/main")
    assert (await Asker(project).json())["local"]["branch"] == "main"


async def test_a_shallow_clone_ends_where_its_history_ends(project: Path, tmp_path: Path) -> None:
    commit(project, "Third", {"c": "c"})
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{project}", "shallow")
    ask = Asker(tmp_path / "shallow")
    assert len(await ask.json("/commits")) == 2
    assert [item["sha"] for item in await ask.json("/commits?path=src")] == [sha(project, "HEAD~1")]
    assert "created_at" in (await ask.json())["placeholders"], "the first commit is not known"


async def test_objects_that_are_borrowed_from_another_repository(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", "project", "borrower")
    await assert_read(LocalTransport.open(tmp_path / "borrower"), project, sha(project))
    alternates = project / ".git" / "objects" / "info" / "alternates"
    alternates.write_text("../../../borrower/.git/objects\n")
    status, _ = await Asker(tmp_path / "borrower").error(f"/git/blobs/{'0' * 40}")
    assert status == 404, "repositories that borrow from each other are no endless loop"


async def test_a_partial_clone_says_which_object_it_never_fetched(project: Path, tmp_path: Path) -> None:
    git(project, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", f"file://{project}", "partial.git")
    ask = Asker(tmp_path / "partial.git")
    tree = await ask.json("/git/trees/HEAD?recursive=1")
    assert [item["path"] for item in tree["tree"]] == ["a.txt", "src", "src/b.py"]
    assert "size" not in tree["tree"][0]
    status, message = await ask.error(f"/git/blobs/{tree['tree'][0]['sha']}")
    assert status == 404
    assert "partial clone" in message


async def test_a_packs_index_of_the_first_version(project: Path) -> None:
    git(project, "-c", "pack.indexVersion=1", "repack", "-a", "-d", "-q")
    await assert_read(LocalTransport.open(project), project, sha(project))
    blob = await Asker(project).json(f"/git/blobs/{sha(project, 'HEAD:a.txt')}")
    assert base64.b64decode(blob["content"]) == b"aa\n"
    assert await Asker(project).commit_of(sha(project)[:6]) == sha(project)


# --- repositories without commits


async def test_a_repository_without_commits_is_empty_not_broken(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "fresh", branch="trunk")
    write(path, {"draft.txt": "x"})
    ask = Asker(path)
    for route in (
        "/commits/HEAD",
        "/commits/trunk",
        "/commits",
        "/git/trees/HEAD",
        "/git/trees/HEAD?recursive=1",
        "/contents/",
    ):
        assert await ask.error(route) == (409, "Git Repository is empty."), route
    about = await ask.json()
    assert (about["default_branch"], about["license"]) == ("trunk", None)
    assert {"created_at", "updated_at", "pushed_at"} <= set(about["placeholders"])
    assert await ask.json("/branches") == await ask.json("/git/matching-refs/heads/") == []
    assert await ask.transport.uncommitted_changes() == 1


async def test_a_head_whose_branch_does_not_exist_names_those_that_do(project: Path) -> None:
    git(project, "symbolic-ref", "HEAD", "refs/heads/master")
    ask = Asker(project)
    status, message = await ask.error("/commits/HEAD")
    assert status == 422
    assert "master" in message
    assert "main" in message
    assert (await ask.json())["default_branch"] == "main"


# --- what cannot be read says why


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    assert refused(tmp_path / "nowhere") == f"There is no folder {tmp_path / 'nowhere'}."
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(tmp_path / "file")
    (tmp_path / "loop").symlink_to("loop")
    assert str(tmp_path / "loop") in refused(tmp_path / "loop")
    assert "\x00" not in refused(Path("nul\x00byte"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_folder_without_permission(project: Path) -> None:
    (project / ".git").chmod(0)
    try:
        assert "permission denied" in refused(project)
    finally:
        (project / ".git").chmod(0o755)


def test_a_sha256_repository(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "modern", [("Begin", {"a": "a"})], object_format="sha256")
    assert "SHA256" in refused(path)


def test_a_repository_that_needs_what_is_not_known_here(project: Path) -> None:
    git(project, "config", "core.repositoryFormatVersion", "1")
    git(project, "config", "extensions.futureThing", "true")
    assert "futurething" in refused(project)
    (project / ".git" / "config").write_text("[core]\n\trepositoryFormatVersion = 7\n")
    assert "version 7" in refused(project)


def test_a_link_to_a_git_folder_that_is_gone(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "--detach", "../linked")
    shutil.rmtree(project)
    assert "points to" in refused(tmp_path / "linked")
    (tmp_path / "linked" / ".git").write_text("nonsense")
    assert "no link to a git repository" in refused(tmp_path / "linked")


def test_a_damaged_git_folder(project: Path) -> None:
    (project / ".git" / "HEAD").unlink()
    assert refused(project) == f"{project} holds a damaged git repository: it has no valid HEAD."


def test_a_damaged_configuration(project: Path) -> None:
    (project / ".git" / "config").write_bytes(b"[core\nnonsense")
    assert "damaged git configuration" in refused(project)


def test_an_empty_git_folder_is_none_as_for_git(tmp_path: Path) -> None:
    (tmp_path / "marked" / ".git").mkdir(parents=True)
    assert LocalTransport.open(tmp_path / "marked").kind == "folder"


async def test_damaged_objects_are_a_sentence_and_never_wrong_content(project: Path) -> None:
    names = {
        name: sha(project, spec) for name, spec in {"blob": "HEAD:a.txt", "tree": "HEAD:src", "commit": "HEAD"}.items()
    }

    def damage(name: str) -> None:
        file = project / ".git" / "objects" / name[:2] / name[2:]
        file.chmod(0o644)
        file.write_bytes(b"x\x9c" + b"garbage" * 10)

    ask = Asker(project)
    damage(names["blob"])
    status, message = await ask.error(f"/git/blobs/{names['blob']}")
    assert (status, names["blob"] in message) == (422, True)
    damage(names["tree"])
    tree = await ask.json("/git/trees/HEAD?recursive=1")
    assert tree["truncated"], "a folder that cannot be read leaves the tree incomplete"
    assert [item["path"] for item in tree["tree"]] == ["a.txt", "src"]
    damage(names["commit"])
    for route in ("/commits/HEAD", "/commits", "/git/trees/HEAD", ""):
        status, message = await ask.error(route)
        assert status in (404, 422), route
        assert names["commit"] in message


async def test_objects_that_git_would_never_write_are_refused_one_by_one(project: Path) -> None:
    tree, head = sha(project, "HEAD^{tree}"), sha(project)
    for kind, content in [
        ("commit", b""),
        ("commit", b"author A <a@x> 1 +0000\n\nno tree"),
        ("commit", b"tree nonsense\n\nx"),
        ("commit", f"tree {tree}\nparent {'z' * 40}\nauthor nobody\ncommitter\n\nx".encode()),
        ("tag", b"object nonsense\n"),
        ("tag", f"object {tree}\ntype tree\ntag t\n\nof a tree".encode()),
    ]:
        name = git(project, "hash-object", "-t", kind, "-w", "--literally", "--stdin", data=content).decode().strip()
        (project / ".git" / "refs" / "tags" / "odd").write_text(name + "\n")
        ask = Asker(project)
        if kind == "tag" or not content.startswith(b"tree " + tree.encode()):
            assert (await ask.error("/commits/odd"))[0] == 422
            assert (await ask.error(f"/commits/{name}"))[0] == 422
        else:
            odd = (await ask.json("/commits/odd"))["commit"]
            assert odd["author"] == {"name": "nobody", "email": "", "date": "1970-01-01T00:00:00Z"}
        assert (await ask.json("/commits"))[0]["sha"] == head
        await ask.json("/tags")
        await ask.json("/git/matching-refs/tags/")
    odd = (
        git(project, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=b"40000 no end").decode().strip()
    )
    assert (await Asker(project).error(f"/git/trees/{odd}"))[0] == 422


async def test_damaged_packed_refs_are_not_taken_for_none(project: Path) -> None:
    git(project, "pack-refs", "--all")
    (project / ".git" / "packed-refs").write_text("# pack-refs with: peeled\nnonsense\n")
    status, message = await Asker(project).error("/commits/HEAD")
    assert (status, "packed-refs is damaged" in message) == (422, True)
    with pytest.raises(LocalRepositoryError):
        await LocalTransport.open(project).uncommitted_changes()


async def test_content_that_does_not_fit_its_name_is_damage(project: Path) -> None:
    name, other = sha(project, "HEAD:a.txt"), sha(project, "HEAD:src/b.py")
    objects = project / ".git" / "objects"
    target = objects / name[:2] / name[2:]
    target.chmod(0o644)
    shutil.copyfile(objects / other[:2] / other[2:], target)
    assert (await Asker(project).error(f"/git/blobs/{name}"))[0] == 422


async def test_a_damaged_pack_is_a_sentence(project: Path) -> None:
    git(project, "gc", "-q")
    (pack,) = (project / ".git" / "objects" / "pack").glob("*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o644)
    for damaged in (b"", whole[:5], whole[:40], whole[:12] + b"\xff" * (len(whole) - 12), b"\0" * len(whole)):
        pack.write_bytes(damaged)
        for route in ("/commits", "/commits/HEAD", "/git/trees/HEAD"):
            status, message = await Asker(project).error(route)
            assert status in (404, 422)
            assert "damaged" in message


async def test_a_history_with_a_hole_is_told_as_far_as_it_goes(project: Path) -> None:
    lost = sha(project, "HEAD~1")
    (project / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    reply = await Asker(project)("/commits")
    assert [item["sha"] for item in reply.json()] == [sha(project)]
    assert "next" in reply.links, "there is more, though it cannot be read"
    status, message = await Asker(project).error("/commits?page=2&per_page=1")
    assert (status, lost in message) == (422, True)


# --- nothing is executed, nothing waits


async def test_no_hook_filter_or_command_of_the_repository_ever_runs(project: Path, tmp_path: Path) -> None:
    marker = tmp_path / "it-ran"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    trap.chmod(0o755)
    write(
        project,
        {".gitattributes": "* filter=trap diff=trap merge=trap text=auto eol=crlf\n"},
    )
    commit(project, "Attributes")
    for key in (
        "filter.trap.clean filter.trap.smudge filter.trap.process diff.trap.command diff.trap.textconv core.fsmonitor "
        "core.sshCommand core.pager core.editor core.gitProxy core.askPass core.alternateRefsCommand credential.helper "
        "diff.external gpg.program uploadpack.packObjectsHook alias.status"
    ).split():
        git(project, "config", key, str(trap))
    git(project, "config", "filter.trap.required", "true")
    hooks = project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"):
        shutil.copy(trap, hooks / hook)
    write(project, {"a.txt": "changed\n", "new.txt": "new\n", "src/b.py": "b2\r\n"})
    (project / "a.txt").touch()
    ask = Asker(project)
    for route in ("", "/commits", "/git/trees/HEAD?recursive=1", "/branches", "/contents/a.txt"):
        await ask.json(route)
    assert await ask.transport.uncommitted_changes() == 3
    assert not marker.exists()


async def test_nothing_is_written_into_the_repository(project: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {str(file): (file.lstat().st_mtime_ns, file.lstat().st_size) for file in project.rglob("*")}

    before = state()
    ask = Asker(project)
    for route in ("", "/commits", "/git/trees/HEAD?recursive=1", "/branches", "/tags"):
        await ask.json(route)
    await ask.transport.uncommitted_changes()
    await ask.transport.aclose()
    assert state() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
async def test_no_fifo_makes_it_wait(project: Path) -> None:
    git(project, "gc", "-q")
    inside, head = project / ".git", sha(project)
    for name in (
        "refs/heads/pipe",
        "objects/pack/pack-1.pack",
        "objects/pack/pack-1.idx",
        "info/attributes",
        "shallow",
    ):
        (inside / name).parent.mkdir(exist_ok=True)
        os.mkfifo(inside / name)
    name = "0123456789" * 4
    (inside / "objects" / name[:2]).mkdir()
    os.mkfifo(inside / "objects" / name[:2] / name[2:])
    os.mkfifo(project / "pipe")
    os.mkfifo(project / "src" / ".gitignore")
    with (inside / "config").open("a") as config:
        config.write("[include]\n\tpath = ../pipe\n[core]\n\texcludesFile = " + str(project / "pipe") + "\n")
    async with asyncio.timeout(20):
        ask = Asker(project)
        assert await ask.commit_of("HEAD") == head
        assert (await ask.error("/commits/pipe"))[0] == 422
        assert (await ask.error(f"/git/blobs/{name}"))[0] in (404, 422)
        assert [item["name"] for item in await ask.json("/branches")] == ["main"]
        assert await ask.transport.uncommitted_changes() == 0


async def test_a_ref_can_read_nothing_outside_of_the_repository(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0" * 40 + "\n")
    (project / ".git" / "refs" / "heads" / "link").symlink_to(tmp_path / "secret")
    (project / ".git" / "refs" / "heads" / "sym").write_text("ref: ../../../secret\n")
    (project / ".git" / "refs" / "heads" / "round").write_text("ref: refs/heads/round\n")
    ask = Asker(project)
    for ref in ("link", "sym", "round", "..%2F..%2F..%2Fsecret"):
        status, message = await ask.error(f"/commits/{ref}")
        assert status == 422
        assert "0000" not in message or ref == "link"


# --- many at once, and long after


async def test_many_questions_at_once_are_all_answered(project: Path) -> None:
    write(project, {f"f{n}": f"content {n}\n" * 20 for n in range(60)})
    commit(project, "Many")
    git(project, "gc", "-q")
    ask = Asker(project)
    names = {sha(project, f"HEAD:f{n}"): f"content {n}\n" * 20 for n in range(0, 60, 6)}
    blobs = await asyncio.gather(*(ask.json(f"/git/blobs/{name}") for name in names for _ in range(5)))
    assert {blob["sha"]: base64.b64decode(blob["content"]).decode() for blob in blobs} == names


async def test_it_answers_on_while_git_repacks_and_after_it_was_closed(project: Path) -> None:
    ask = Asker(project)
    first = await ask.json("/commits")
    git(project, "gc", "-q")
    assert await ask.json("/commits") == first
    commit(project, "New", {"n": "n"})
    git(project, "repack", "-a", "-d", "-q")
    assert len(await ask.json("/commits")) == 3
    await ask.transport.aclose()
    assert len(await ask.json("/commits")) == 3


class _Endless:
    """A source whose answer never comes, unless it is told to stop."""

    kind = "git"

    def __init__(self) -> None:
        self.began, self.ended = threading.Event(), threading.Event()

    def facts(self, stop: Stop) -> Any:
        self.began.set()
        try:
            while True:
                stop.check()
        finally:
            self.ended.set()

    def close(self) -> None:
        """Nothing is open."""


async def test_a_cancelled_request_ends_its_thread() -> None:
    source = _Endless()
    transport = LocalTransport(source, "local/endless")  # type: ignore[arg-type]
    task = asyncio.create_task(Asker(transport).json())
    await asyncio.to_thread(source.began.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(source.ended.wait, 10)


def test_open_packs_are_closed_when_nobody_needs_them(project: Path, recwarn: pytest.WarningsRecorder) -> None:
    git(project, "gc", "-q")
    objects = DiskObjects(str(project / ".git" / "objects"))
    objects.read(sha(project))
    del objects
    assert not [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)]


# --- other ways to keep things


async def test_a_repository_in_memory_answers_too(project: Path) -> None:
    from dulwich.objects import Blob, Commit, Tag, Tree
    from dulwich.repo import MemoryRepo

    repo = MemoryRepo()
    blob, tree, made, tag = Blob.from_string(b"hi\n"), Tree(), Commit(), Tag()
    tree.add(b"hi.txt", 0o100644, blob.id)
    made.tree, made.message, made.author, made.committer = tree.id, b"Begin\n", b"A <a@x>", b"A <a@x>"
    made.author_time = made.commit_time = 1708424099
    made.author_timezone = made.commit_timezone = 3600
    tag.object, tag.name, tag.tagger, tag.message = (Commit, made.id), b"v1", b"A <a@x>", b"one"
    tag.tag_time, tag.tag_timezone = 1708424099, 0
    for item in (blob, tree, made, tag):
        repo.object_store.add_object(item)
    repo.refs[b"refs/heads/main"] = made.id
    repo.refs[b"refs/tags/v1"] = tag.id
    repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
    transport = LocalTransport.from_repo(repo, "octo/demo")
    ask = Asker(transport)
    about = await ask.json()
    assert (about["full_name"], about["default_branch"], about["created_at"]) == (
        "octo/demo",
        "main",
        "2024-02-20T10:14:59Z",
    )
    assert await ask.commit_of("v1") == await ask.commit_of(made.id.decode()[:8]) == made.id.decode()
    assert [(item["path"], item["size"]) for item in (await ask.json("/git/trees/v1?recursive=1"))["tree"]] == [
        ("hi.txt", 3)
    ]
    assert base64.b64decode((await ask.json("/contents/hi.txt"))["content"]) == b"hi\n"
    assert [item["name"] for item in await ask.json("/tags")] == ["v1"]
    assert await transport.uncommitted_changes() == 0


# Written by git 2.47 for the commits of `project` without src: HEAD, two branches, an annotated tag, a symbolic ref;
# then a second table, which deletes the branch `old` and adds `new`.
REFTABLES = (
    "UkVGVAEAEAAAAAAAAAAAAQAAAAAAAAALcgAA+AAjSEVBRAAPcmVmcy9oZWFkcy9tYWluAHlyZWZzL2hlYWRzL21haW4CEAb5lbNtZJ0BcQYkygVQ"
    "FBTWGpgLGW9sZANwWaTO6wTX3p7q7PFgyxgRwsMSigWAG3JlbW90ZXMvb3JpZ2luL0hFQUQFGHJlZnMvcmVtb3Rlcy9vcmlnaW4vbWFpbhQhbWFp"
    "bgYQBvmVs21knQFxBiTKBVAUFNYamAU6dGFncy92MQTe1qS2gqbTooNH0fWsesDuRrRtehAG+ZWzbWSdAXEGJMoFUBQU1hqYAAAcAAAzAAJnAAEf"
    "eNpjyPRwdXRh+A8B3xlIAYxcDA2ORalpxfoZqYkpxfq5iZl5MJO+kWgSd2J+TgpM81cSNbM2JBal5uaXpBbr5xdlpmfmoTjlC6meYmBhYHBiYAIA"
    "M5wyPlJFRlQBABAAAAAAAAAAAAEAAAAAAAAACwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD4AAAAAAAAAAC9ty0H",
    "UkVGVAEAEAAAAAAAAAAADAAAAAAAAAAMcgAATABxcmVmcy9oZWFkcy9uZXcAEAb5lbNtZJ0BcQYkygVQFBTWGpgLGG9sZAAAABwAAWcAAH142mNo"
    "sCxKTSvWz0hNTCnWz0stZ/gPAZ8ZsAABtp9TN+emzGUsZFM5xRogInJNagaXY0qigmNpSUZ+EX9iSqJDakVibkFOql5+UXrrmjd3lRkYGLm4E/Jz"
    "UmAmf2VgYGFgBADaWCtyUkVGVAEAEAAAAAAAAAAADAAAAAAAAAAMAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEwAAAAAAAAAACOGsbA=",
)


@pytest.fixture
def reftable(tmp_path: Path) -> Path:
    """A repository whose refs are in reftables (which the git of the tests need not know)."""
    path = make_repo(tmp_path / "tables", [("Begin", {"a.txt": "a\n"}), ("Go on", {"a.txt": "aa\n"})])
    git(path, "tag", "-a", "v1", "-m", "one")
    inside = path / ".git"
    shutil.rmtree(inside / "refs")
    (inside / "refs").mkdir()
    (inside / "refs" / "heads").write_text("this repository uses the reftable format\n")
    (inside / "HEAD").write_text("ref: refs/heads/.invalid\n")
    with (inside / "config").open("a") as config:
        config.write("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\trefStorage = reftable\n")
    (inside / "reftable").mkdir()
    for number, table in enumerate(REFTABLES):
        (inside / "reftable" / f"{number}.ref").write_bytes(base64.b64decode(table))
    (inside / "reftable" / "tables.list").write_text("0.ref\n1.ref\n")
    return path


async def test_refs_in_reftables_are_read_as_git_wrote_them(reftable: Path) -> None:
    ask = Asker(reftable)
    head = "1006f995b36d649d01710624ca05501414d61a98"
    assert (await ask.json())["local"]["branch"] == "main"
    for ref in ("HEAD", "main", "new", "v1", "origin/main", "remotes/origin/HEAD"):
        assert await ask.commit_of(ref) == head
    assert (await ask.error("/commits/old"))[0] == 422, "a later table has deleted it"
    assert [item["name"] for item in await ask.json("/branches")] == ["main", "new"]
    assert [item["commit"]["sha"] for item in await ask.json("/tags")] == [head]
    (reftable / ".git" / "reftable" / "tables.list").write_text("0.ref\n")
    assert await ask.commit_of("old") == "7059a4ceeb04d7de9eeaecf160cb1811c2c3128a"
    assert await ask.transport.uncommitted_changes() == 0


def test_a_damaged_reftable_is_a_sentence(reftable: Path) -> None:
    table = reftable / ".git" / "reftable" / "1.ref"
    whole = table.read_bytes()
    for content in (b"", whole[:30], b"NOPE" + whole[4:], whole[:28] + b"\xff" * 60):
        table.write_bytes(content)
        assert "cannot be read" in refused(reftable)
    (reftable / ".git" / "reftable" / "tables.list").write_text("../../secret\n")
    assert "outside" in refused(reftable)

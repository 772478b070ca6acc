"""A git repository in memory, out of the demo's commits."""

from __future__ import annotations

from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import MemoryRepo

from tui_agent.transports.demo_repository import COMMITS

_FILE, _FOLDER = 0o100644, 0o040000


def memory_repository() -> MemoryRepo:
    """The demo's repository: the same commit ids every time."""
    repo = MemoryRepo()
    store = repo.object_store
    files: dict[str, bytes] = {}
    parents: list[ObjectID] = []
    for change in COMMITS:
        for path, text in change.files.items():
            if text is None:
                del files[path]
            else:
                files[path] = text.encode()
        blobs = {path: Blob.from_string(data) for path, data in files.items()}
        for blob in blobs.values():
            store.add_object(blob)
        commit = Commit()
        commit.tree = _tree(repo, {tuple(path.split("/")): blob.id for path, blob in blobs.items()})
        commit.parents = parents
        commit.author = commit.committer = f"{change.author} <{change.author.split()[0].lower()}@example.org>".encode()
        commit.author_time = commit.commit_time = change.date
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = change.message.encode()
        store.add_object(commit)
        parents = [commit.id]
    repo.refs[Ref(b"refs/heads/main")] = parents[0]
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
    return repo


def _tree(repo: MemoryRepo, files: dict[tuple[str, ...], ObjectID]) -> ObjectID:
    tree = Tree()
    folders: dict[str, dict[tuple[str, ...], ObjectID]] = {}
    for path, sha in files.items():
        if len(path) == 1:
            tree.add(path[0].encode(), _FILE, sha)
        else:
            folders.setdefault(path[0], {})[path[1:]] = sha
    for name, inside in folders.items():
        tree.add(name.encode(), _FOLDER, _tree(repo, inside))
    repo.object_store.add_object(tree)
    return tree.id

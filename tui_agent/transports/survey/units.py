"""What is counted, in words: a form for one and a form for many, by language."""

from __future__ import annotations

# key: (English for one, English for many, Chinese)
UNITS: dict[str, tuple[str, str, str]] = {
    "file": ("{n} file", "{n} files", "{n} 个文件"),
    "regular_file": ("{n} regular file", "{n} regular files", "{n} 个普通文件"),
    "file_seen": (
        "{n} file (symbolic links included)",
        "{n} files (symbolic links included)",
        "{n} 个文件（含符号链接）",
    ),
    "byte": ("{n} byte", "{n} bytes", "{n} 字节"),
    "commit": ("{n} commit", "{n} commits", "{n} 次提交"),
    "second": ("{n} second", "{n} seconds", "{n} 秒"),
    "day": ("{n} day", "{n} days", "{n} 天"),
    "change": ("{n} uncommitted change", "{n} uncommitted changes", "{n} 处未提交的更改"),
    "star": ("{n} star", "{n} stars", "{n} 个星标"),
    "fork": ("{n} fork", "{n} forks", "{n} 个派生"),
    "issue": ("{n} open issue or pull request", "{n} open issues and pull requests", "{n} 个未关闭的议题和拉取请求"),
    "entry": ("{n} entry", "{n} entries", "{n} 个条目"),
    "dependency": ("{n} runtime dependency", "{n} runtime dependencies", "{n} 个运行时依赖"),
    "call": ("{n} call", "{n} calls", "{n} 次调用"),
    "more": ("{n} more", "{n} more", "{n} 项"),
    "author": ("{n} author name", "{n} author names", "{n} 个作者名"),
    "listed": ("{n} package", "{n} packages", "{n} 个包"),
}

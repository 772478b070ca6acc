"""The words by which claims of a report are known, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

EXTENSIONS: Final = (
    "py|pyi|pyx|ipynb|js|mjs|cjs|jsx|ts|tsx|mts|vue|svelte|go|rs|java|kt|kts|scala|rb|php|cs|fs|c|cc|cpp|cxx|h|hh|hpp|"
    "m|mm|swift|dart|ex|exs|erl|hs|ml|clj|lua|pl|pm|r|R|jl|sh|bash|zsh|fish|ps1|bat|cmd|sql|html|htm|css|scss|sass|less|"
    "md|mdx|rst|txt|adoc|json|jsonc|json5|toml|yaml|yml|ini|cfg|conf|env|xml|csv|tsv|lock|gradle|cmake|mod|sum|proto|"
    "graphql|tf|nix|typed|in|example|svg|png|jpg|gif|ico|pdf|gz|zip|whl|editorconfig|gitignore|gitattributes|gitmodules|"
    "dockerignore|dockerfile|tcss|tmpl|tpl|j2|dat|bin|patch|diff|log|wasm|zig|sol"
)
NO_LANGUAGE: Final = frozenset(
    (
        "",
        *"md mdx rst txt adoc json jsonc json5 toml yaml yml ini cfg conf env xml csv tsv lock svg png jpg gif".split(),
        *"jpeg ico webp pdf gz zip whl woff woff2 ttf otf mp3 mp4 wav dat bin log typed (other)".split(),
    )
)
"""Endings of files that are text, data, pictures or sounds rather than written in a programming language."""
PRODUCTS: Final = frozenset(
    "node.js vue.js next.js nuxt.js express.js react.js three.js d3.js angular.js ember.js backbone.js alpine.js "
    "socket.io asp.net chart.js moment.js discord.js e.g i.e".split()
)

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

MULTIPLES: Final[Mapping[str, int]] = {
    "k": 1_000,
    "K": 1_000,
    "千": 1_000,
    "thousand": 1_000,
    "万": 10_000,
    "M": 1_000_000,
    "百万": 1_000_000,
    "million": 1_000_000,
    "亿": 100_000_000,
}
SIZES: Final[Mapping[str, int]] = {
    "kb": 1_000,
    "kib": 1_024,
    "mb": 1_000_000,
    "mib": 1_048_576,
    "gb": 1_000_000_000,
    "gib": 1_073_741_824,
}
UNIT: Final = re.compile(
    r"[ \u202f]?(?:%|[kKMG]i?B\b|(?:days?|months?|years?|weeks?|hours?|seconds?|minutes?|ms|s)\b|[天月年周倍])"
)
ORDINARY: Final = 20
"""Up to here a number is an ordinary word, where it does not count something that a tool told."""

_NOUNS: Mapping[str, str] = {
    "bytes": r"bytes?|字节",
    "characters": r"characters?|chars?|字符",
    "stars": r"stars?|stargazers?|星标|星|颗星|收藏",
    "forks": r"forks?|复刻|分叉|派生",
    "issues": r"(?:open )?issues?|(?:开放的?|未关闭的?|未解决的?)?(?:议题|问题)",
    "watchers": r"watchers?|subscribers?|关注者",
    "files": r"(?:\w+ ){0,2}files?\b|(?:[\u4e00-\u9fffA-Za-z ]{0,8})文件",
    "folders": r"(?:\w+ ){0,2}(?:director(?:y|ies)|folders?)|(?:顶层|顶级|子)?(?:目录|文件夹)",
    "commits": r"(?:\w+ )?commits?|(?:次)?提交",
    "people": r"(?:\w+ )?(?:contributors?|authors?|committers?|people|maintainers?|developers?|author names?)"
    r"|(?:位|名|个)?(?:贡献者|作者名?|提交者|维护者|开发者|人)",
    "lines": r"(?:\w+ )?lines?|行",
    "days": r"days?|天|日(?!期)",
    "weeks": r"weeks?|周",
    "months": r"months?|个月",
    "years": r"years?|年",
    "branches": r"branch(?:es)?|分支",
    "tags": r"tags?|标签",
    "%": r"percent\b|share\b|占比",
    "things": r"(?:\w+ ){0,1}(?:dependenc(?:y|ies)|tests?|packages?|modules?|workflows?|releases?|languages?|"
    r"functions?|classes|plugins?|examples?|downloads?|users?|requests?|commands?|layers?|turns?|tools?|scripts?)\b"
    r"|(?:[\u4e00-\u9fff]{0,4})(?:依赖|测试|模块|用例|函数|用户|语言|示例|插件|下载|版本)",
}
STRONG: Final = frozenset(
    ("stars", "forks", "issues", "watchers", "files", "folders", "commits", "people", "bytes", "characters", "days",
     "lines", "%", "branches", "tags", "weeks", "months", "years")
)  # fmt: skip
"""What tools tell, so that even a small number of them is a claim."""
NOUNS: Final[Mapping[str, re.Pattern[str]]] = {name: re.compile(text, re.I) for name, text in _NOUNS.items()}
_AFTER = re.compile(
    r"(?:[个次位名颗条款只的 ]{0,3})(?:"
    + "|".join(f"(?P<n{index}>{text})" for index, text in enumerate(_NOUNS.values()))
    + r")(?![a-z])",
    re.I,
)
_BEFORE = re.compile(
    r"(?:([A-Za-z]+)[\s*]{0,4}(?:[:：|]|\()|([\u4e00-\u9fff]+?)(?:数量|总数|数)?(?:[\s*]{0,4}(?:[:：|(]|为|达|共|有|超过|约)){0,2})"
    r"[\s*约为有]{0,6}$"
)
_WORDS: Mapping[str, str] = {
    word: noun
    for noun, all_words in {
        "stars": "star stars stargazers 星标 星 收藏",
        "forks": "fork forks 复刻 分叉 派生",
        "issues": "issue issues 议题 问题",
        "watchers": "watchers subscribers 关注者",
        "files": "file files 文件",
        "folders": "directories folders 目录 文件夹",
        "commits": "commit commits 提交",
        "people": "contributors authors committers maintainers developers people 贡献者 作者 提交者 维护者 开发者",
        "bytes": "bytes 字节",
        "characters": "characters 字符",
        "lines": "lines 行",
        "branches": "branches 分支",
        "tags": "tags 标签",
        "%": "share percent 占比",
        "things": "dependencies tests packages modules releases 依赖 测试 模块 用例",
    }.items()
    for word in all_words.split()
}
_KEYS = tuple(_NOUNS)


def noun_of(text: str) -> str:
    """What the text begins with that can be counted; "" for nothing known."""
    return _key(_AFTER.match(text[:60]))


def noun_before(text: str) -> str:
    """What is counted where the number comes after it (`stars: `, `星标 `)."""
    match = _BEFORE.search(text[-24:])
    if match is None:
        return ""
    if match[1]:
        return _WORDS.get(match[1].lower(), "")
    ends = (match[2][-length:] for length in (4, 3, 2, 1))
    return next((_WORDS[end] for end in ends if end in _WORDS), "")


def _key(match: re.Match[str] | None) -> str:
    return _KEYS[int(str(match.lastgroup)[1:])] if match else ""


def unit_of(text: str) -> str:
    """The unit of a size that the text begins with, in small letters; "" for none."""
    match = re.match(r"[ \u202f]?([kKMG]i?[bB])\b", text)
    return match[1].lower() if match else ""


LICENCE_FORMS: Final = (
    r"(?<![\w-])(?:(?:Apache|BSD|GPL|LGPL|AGPL|MPL|CC0|CC-BY|EPL|EUPL|MIT|ISC|Zlib|Unlicense|WTFPL|BSL|0BSD|PSF|OFL|"
    r"MulanPSL)"
    r"(?:[- ](?:License|Licence))?(?:(?:[-, ]{1,2}(?:version |v))?[- ]?v?\d(?:\.\d)?)?"
    r"(?:[- ][Cc]lause)?(?:-only|-or-later)?"
    r"|GNU (?:Lesser |Affero )?General Public Licen[sc]e(?:,? (?:version |v)?\d(?:\.\d)?)?"
    r"|Mozilla Public Licen[sc]e(?:,? (?:version |v)?\d(?:\.\d)?)?|木兰宽松许可证)(?![\w-])"
)
ALSO_WORDS: Final = frozenset({"MIT", "BSD", "ISC", "PSF", "EPL", "GPL", "MPL", "BSL", "OFL", "Apache"})
"""Names of licences that mean other things as well."""
_FAMILIES = {
    "gnu lesser general public": "lgpl",
    "gnu affero general public": "agpl",
    "gnu general public": "gpl",
    "mozilla public": "mpl",
}


def spdx(text: str) -> str:
    """A licence's name in one form: small letters, family and version (`apache-2.0`, `bsd-3`, `gpl-3`); "" for none."""
    low = " ".join(re.sub(r"[-_,()]", " ", text.lower()).split())
    for name, short in _FAMILIES.items():
        low = low.replace(name, short)
    match = re.match(r"(apache|bsd|lgpl|agpl|gpl|mpl|cc0|cc by|epl|eupl|mit|isc|zlib|unlicense|wtfpl|bsl|0bsd|psf|"
                     r"ofl|mulanpsl)"
                     r"(?: licen[sc]e)?(?: (?:version )?v?|v)?(\d(?:\.\d)?)?", low)  # fmt: skip
    if match is None:
        return ""
    version = (match[2] or "").removesuffix(".0")
    return f"{match[1]}-{version}" if version else match[1]


LICENCE_TEXTS: Final[Mapping[str, str]] = {
    "mit": "permission is hereby granted, free of charge",
    "apache-2": "apache license",
    "gpl": "gnu general public license",
    "lgpl": "gnu lesser general public license",
    "agpl": "gnu affero general public license",
    "mpl-2": "mozilla public license",
    "bsd": "redistribution and use in source and binary forms",
    "bsd-3": "neither the name of",
    "isc": "permission to use, copy, modify, and/or distribute this software",
    "unlicense": "this is free and unencumbered software",
}
"""What a licence's own text says, in small letters."""

NO_SUBJECT: Final = frozenset(
    """
    version versions release released releases v to from and or the of is at in with requires require since by than
    as " "least are was for on between before after current latest now about only also supports until
    """.split()
)
NO_NAME: Final = frozenset(
    """
    a an the this that these those it its most main many some several recent latest other all both in on by at of
    for and or with from to as is are was were no not one two three four five six seven commits commit code pull
    request requests github gitlab python java javascript typescript rust go node react django flask docker linux
    windows macos license licence readme activity people author authors maintainer maintainers contributor
    contributors committers developers team project repository project's repo source open tests test ci continuous
    integration actions workflow release releases version versions api cli tech stack overview highlights risks
    summary conclusion key core directory structure january february march april may june july august september
    october november december monday tuesday wednesday thursday friday saturday sunday top list table name names
    file files first last next new old software foundation university institute inc ltd llc group community
    organization organisation labs company apache mit bsd gnu http https rest json yaml toml markdown html css sql
    web framework library application package type types typed hints number total development status production
    stable current state bus factor single small single-maintainer strengths dependencies runtime build system
    documentation entry points layout architecture languages what how why who when where there here her his their
    our your see note good well active stale general public contributor's created written maintained contributing
    guide guidelines code-of-conduct conduct security policy rich text pypi npm by: author: authors: maintainers:
    maintainer: contributors: people: recent: however although while because since
    """.split()
)
NO_CJK_NAME: Final = frozenset(
    "社区 团队 公司 个人 多人 两人 三人 一人 他人 官方 组织 数人 不同 主要 开源社区 未知 不详 单人 少数".split()
)

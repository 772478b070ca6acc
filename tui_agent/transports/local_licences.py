"""Which licence a repository's own text is, said only where the text leaves no doubt.

Short licences are compared word by word, names and copyright lines apart; of long ones the title,
some sentences and the length have to agree. Anything more in the file (an exception, a further
condition) makes it "NOASSERTION", the word GitHub has for a licence that it does not recognise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from tui_agent.transports.local_source import EXECUTABLE, FILE, TreeEntry

UNRECOGNISED = "NOASSERTION"

_PRIMARY = re.compile(rb"(?:un)?licen[sc]e|copying", re.IGNORECASE)
_TEXT_SUFFIX = re.compile(rb"\.(?:txt|md|markdown|rst|adoc|org|html?)$", re.IGNORECASE)
_VARIANT = re.compile(rb"(?:(?:un)?licen[sc]es?|copying)[-_.][\w.+-]+|[\w.+-]+[-_.]licen[sc]e", re.IGNORECASE)
# Programs about licences, not licences.
_PROGRAM = re.compile(rb"\.(?:py|js|ts|go|rs|rb|java|kt|c|h|cs|php|sh|json|ya?ml|toml|xml|spdx|header|tmpl|tpl)$", re.I)
_MAX_FILES = 8

# Lines that say whose it is; not those of a licence's own text that only begin with the word.
_COPYRIGHT = re.compile(
    r"^[\W_]*(?:\w+: )?(?:copyright\b(?!\s+(?:and|disclaimers?|holders?|in|interests?|laws?|licen[sc]es?|notices?|or"
    r"|owners?|statements?)\b)|\(c\)|©|all rights reserved).*$",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"[a-z0-9]+")
_MAX_RESIDUE = 3
"""Words that may be left over beside a short licence, its title and its copyright lines."""

_BSD_START = (
    "redistribution and use in source and binary forms with or without modification are permitted provided that the "
    "following conditions are met 1? redistributions of source code must retain the above copyright notice this list "
    "of conditions and the following disclaimer 2? redistributions in binary form must reproduce the above copyright "
    "notice this list of conditions and the following disclaimer in the documentation and or other materials provided "
    "with the distribution "
)
_BSD_NAMES = (
    "3? neither the names? of * nor the names of *contributors may be used to endorse or promote products derived "
    "from this software without specific prior written permission "
)
_BSD_END = (
    "this software is provided by * as is and any express or implied warranties including but not limited to the "
    "implied warranties of merchantability and fitness for a particular purpose are disclaimed in no event shall * be "
    "liable for any direct indirect incidental special exemplary or consequential damages including but not limited "
    "to procurement of substitute goods or services loss of use data or profits or business interruption however "
    "caused and on any theory of liability whether in contract strict liability or tort including negligence or "
    "otherwise arising in any way out of the use of this software even if advised of the possibility of such damage"
)
_MIT_START = (
    "permission is hereby granted free of charge to any person obtaining a copy of this software and associated "
    "documentation files the software to deal in the software without restriction including without limitation the "
    "rights to use copy modify merge publish distribute sublicense and or sell copies of the software and to permit "
    "persons to whom the software is furnished to do so "
)
_MIT_END = (
    "the software is provided as is without warranty of any kind express or implied including but not limited to the "
    "warranties of merchantability fitness for a particular purpose and noninfringement in no event shall * be liable "
    "for any claim damages or other liability whether in an action of contract tort or otherwise arising from out of "
    "or in connection with the software or the use or other dealings in the software"
)
_ISC_GRANT = (
    "permission to use copy modify and or? distribute this software for any purpose with or without fee is hereby "
    "granted "
)
_ISC_END = (
    "the software is provided as is and the author disclaims all warranties with regard to this software including "
    "all implied warranties of merchantability and fitness in no event shall the author be liable for any special "
    "direct indirect or consequential damages or any damages whatsoever resulting from loss of use data or profits "
    "whether in an action of contract negligence or other tortious action arising out of or in connection with the "
    "use or performance of this software"
)

_SHORT = {
    "MIT": _MIT_START
    + "subject to the following conditions the above copyright notice and this permission notice shall be included in "
    "all copies or substantial portions of the software " + _MIT_END,
    "MIT-0": _MIT_START + _MIT_END,
    "ISC": _ISC_GRANT
    + "provided that the above copyright notice and this permission notice appear in all copies "
    + _ISC_END,
    "0BSD": _ISC_GRANT + _ISC_END,
    "BSD-2-Clause": _BSD_START + _BSD_END,
    "BSD-3-Clause": _BSD_START + _BSD_NAMES + _BSD_END,
    "BSL-1.0": "permission is hereby granted free of charge to any person or organization obtaining a copy of the "
    "software and accompanying documentation covered by this license the software to use reproduce display distribute "
    "execute and transmit the software and to prepare derivative works of the software and to permit third parties to "
    "whom the software is furnished to do so all subject to the following the copyright notices in the software and "
    "this entire statement including the above license grant this restriction and the following disclaimer must be "
    "included in all copies of the software in whole or in part and all derivative works of the software unless such "
    "copies or derivative works are solely in the form of machine executable object code generated by a source "
    "language processor the software is provided as is without warranty of any kind express or implied including but "
    "not limited to the warranties of merchantability fitness for a particular purpose title and non infringement in "
    "no event shall the copyright holders or anyone distributing the software be liable for any damages or other "
    "liability whether in contract tort or otherwise arising from out of or in connection with the software or the "
    "use or other dealings in the software",
    "Zlib": "this software is provided as is without any express or implied warranty in no event will the authors be "
    "held liable for any damages arising from the use of this software permission is granted to anyone to use this "
    "software for any purpose including commercial applications and to alter it and redistribute it freely subject to "
    "the following restrictions 1? the origin of this software must not be misrepresented you must not claim that you "
    "wrote the original software if you use this software in a product an acknowledgment in the product documentation "
    "would be appreciated but is not required 2? altered source versions must be plainly marked as such and must not "
    "be misrepresented as being the original software 3? this notice may not be removed or altered from any source "
    "distribution",
    "Unlicense": "this is free and unencumbered software released into the public domain anyone is free to copy modify "
    "publish use compile sell or distribute this software either in source code form or as a compiled binary for any "
    "purpose commercial or non commercial and by any means in jurisdictions that recognize copyright laws the author "
    "or authors of this software dedicate any and all copyright interest in the software to the public domain we make "
    "this dedication for the benefit of the public at large and to the detriment of our heirs and successors we intend "
    "this dedication to be an overt act of relinquishment in perpetuity of all present and future rights to this "
    "software under copyright law "
    + _MIT_END.replace("whether in an action", "whether in an? action")
    + " for more information please refer to https? unlicense org?",
}
_TITLES = re.compile(
    r"^(?:(?:the )?(?:mit|isc|zlib|unlicense|boost software|bsd zero clause|(?:new |modified |simplified )?bsd"
    r"|bsd (?:2|3|two|three) clause|mit no attribution)(?: license)?(?: mit| isc| zlib| version 1 0"
    r"| august 17th 2003| new bsd| license)*"
    r"|license) "
)


class _Long(NamedTuple):
    title: str
    sentences: tuple[str, ...]
    least: int
    most: int


# Words counted in the texts that the licences' stewards publish, with and without the appendix that tells how to use
# them; between the two lies what projects really have.
_LONG = {
    "Apache-2.0": _Long(
        "apache license version 2 0 january 2004",
        ("terms and conditions for use reproduction and distribution", "9 accepting warranty or additional liability"),
        1400,
        1650,
    ),
    "GPL-2.0": _Long(
        "gnu general public license version 2 june 1991",
        ("terms and conditions for copying distribution and modification", "12 in no event unless required by"),
        2450,
        3060,
    ),
    "GPL-3.0": _Long(
        "gnu general public license version 3 29 june 2007",
        ("13 use with the gnu affero general public license", "17 interpretation of sections 15 and 16"),
        5100,
        5780,
    ),
    "AGPL-3.0": _Long(
        "gnu affero general public license version 3 19 november 2007",
        ("13 remote network interaction use with the gnu general public license", "17 interpretation of sections 15"),
        5000,
        5750,
    ),
    "LGPL-2.1": _Long(
        "gnu lesser general public license version 2 1 february 1999",
        ("a work that uses the library", "16 in no event unless required by applicable law"),
        3950,
        4480,
    ),
    "LGPL-3.0": _Long(
        "gnu lesser general public license version 3 29 june 2007",
        ("1 exception to section 3 of the gnu gpl", "6 revised versions of the gnu lesser general public license"),
        1180,
        1290,
    ),
    "MPL-2.0": _Long(
        "mozilla public license version 2 0",
        ("exhibit a source code form license notice", "10 4 distributing source code form that is incompatible"),
        2380,
        2480,
    ),
    "EPL-2.0": _Long(
        "eclipse public license v 2 0",
        (
            "secondary license means either the gnu general public license",
            "exhibit a form of secondary licenses notice",
        ),
        2080,
        2260,
    ),
    "CC0-1.0": _Long(
        "cc0 1 0 universal",
        ("statement of purpose", "2 waiver to the greatest extent permitted by", "4 limitations and disclaimers"),
        950,
        1120,
    ),
}


def find_licence(entries: list[TreeEntry], read: Callable[[str], bytes]) -> str | None:
    """The licence of a repository, by the files of its root.

    Args:
        entries: what the root folder holds.
        read: the content of a blob by its SHA.

    Returns:
        an SPDX id, "NOASSERTION" where there is a licence that is not recognised, None where there is none.
    """
    primary: list[str] = []
    variants: list[str] = []
    for entry in entries:
        if entry.mode in (FILE, EXECUTABLE) and not _PROGRAM.search(entry.name):
            stem = _TEXT_SUFFIX.sub(b"", entry.name)
            if _PRIMARY.fullmatch(stem):
                primary.append(entry.sha)
            elif _VARIANT.fullmatch(stem):
                variants.append(entry.sha)
    if not primary and not variants:
        return None
    chief = {_licence_of(read(sha)) for sha in primary[:_MAX_FILES]}
    others = {_licence_of(read(sha)) for sha in variants[:_MAX_FILES]}
    # Beside a licence of its own, a repository may keep those of parts it includes; only a second one that is
    # recognised puts the first in doubt. (The LGPL 3 comes with the GPL, which it extends.)
    found = chief | (others - {None} if chief else others)
    if "LGPL-3.0" in found:
        found.discard("GPL-3.0")
    only = found.pop()
    return only if only and not found else UNRECOGNISED


def _licence_of(content: bytes) -> str | None:
    """The SPDX id of a text, None where there is any doubt."""
    text = content.decode("utf-8", "replace")
    words = _WORD.findall(_COPYRIGHT.sub("", text.replace("'", "").replace("’", "")).lower())
    joined = " ".join(words) + " "
    for name, long in _LONG.items():
        if long.least <= len(words) <= long.most and long.title in joined[:400]:
            return name if all(sentence in joined for sentence in long.sentences) else None
    if len(words) < 400:
        joined = _TITLES.sub("", joined)
        for name, pattern in _patterns().items():
            match = pattern.search(joined)
            if match is not None and len((joined[: match.start()] + joined[match.end() :]).split()) <= _MAX_RESIDUE:
                return name
    return None


def _pattern(body: str) -> re.Pattern[str]:
    """A licence's words as a pattern: `*` for up to twelve words of a name, `x?` for a word or letter that may lack."""
    parts = []
    for word in body.split():
        if word == "*":
            parts.append(r"(?:\w+ ){0,12}?")
        elif word.startswith("*"):
            parts.append(r"(?:\w+ ){0,6}?" + word[1:] + " ")
        elif word.endswith("?") and len(word) > 2:
            parts.append(f"{word[:-1]}? " if word == "names?" else f"(?:{word[:-1]} )?")
        elif word.endswith("?"):
            parts.append(rf"(?:{word[:-1]} )?")
        else:
            parts.append(word + " ")
    return re.compile("".join(parts))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: _pattern(body) for name, body in _SHORT.items()}

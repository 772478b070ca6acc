"""A licence is named only where its text leaves no doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_local_git import MIT
from tui_agent.transports.local_licences import find_licence
from tui_agent.transports.local_source import FILE, LINK, TREE, TreeEntry

BSD3 = """Copyright 2010 Somebody

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1.  Redistributions of source code must retain the above copyright notice, this list of conditions and the following
    disclaimer.
2.  Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
    disclaimer in the documentation and/or other materials provided with the distribution.
3.  Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote
    products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""
BSD2 = "\n".join(
    line for line in BSD3.replace("3.  Neither", "@").split("\n") if "@" not in line and "products" not in line
)
ISC = """ISC License

Copyright (c) 2020, Somebody <somebody@example.org>

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
"""
# As `MIT` is set by those who publish it: a line that begins with the word copyright is still the licence's own.
BROKEN_ELSEWHERE = MIT.replace("AUTHORS OR\nCOPYRIGHT", "AUTHORS OR COPYRIGHT").replace("BE LIABLE", "\nBE LIABLE")


def found(**files: str) -> str | None:
    names = {name.replace("__", ".").replace("_", "-"): text.encode() for name, text in files.items()}
    entries = [TreeEntry(name.encode(), FILE, name) for name in names]
    return find_licence(entries, names.__getitem__)


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (MIT, "MIT"),
        (MIT.removeprefix("MIT License\n\n"), "MIT"),
        ("# The MIT License (MIT)\n\n" + MIT.partition("\n\n")[2], "MIT"),
        (MIT.replace("\n", "\r\n"), "MIT"),
        (BROKEN_ELSEWHERE, "MIT"),
        (MIT.replace('"', "“"), "MIT"),
        (BSD3, "BSD-3-Clause"),
        ("BSD 3-Clause License\n\n" + BSD3, "BSD-3-Clause"),
        (BSD3.replace("the copyright holder nor", "Encode OSS Ltd. nor"), "BSD-3-Clause"),
        (BSD2, "BSD-2-Clause"),
        (ISC, "ISC"),
    ],
)
def test_a_well_known_text_is_recognised(text: str, licence: str) -> None:
    assert found(LICENSE=text) == licence


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Proprietary. All rights reserved.\n",
        "This project is licensed under the MIT license.\n",
        MIT + "\nThe Software shall be used for Good, not Evil.\n",
        MIT.replace("sublicense, ", ""),
        MIT.replace("distribute", "not distribute"),
        BSD3.replace("Neither the name", "4. All advertising must say so. Neither the name"),
        MIT + BSD3,
    ],
)
def test_anything_more_or_less_is_not_recognised(text: str) -> None:
    assert found(LICENSE=text) == "NOASSERTION"


def test_no_licence_file_is_no_licence() -> None:
    assert found(README="MIT", license__py="x", licenses__json="{}") is None
    assert (
        find_licence([TreeEntry(b"LICENSE", LINK, "1"), TreeEntry(b"LICENSES", TREE, "2")], lambda _: MIT.encode())
        is None
    )


@pytest.mark.parametrize(
    "name",
    ["LICENSE", "LICENCE", "license__md", "LICENSE__txt", "COPYING", "License__rst", "LICENSE_MIT", "MIT_LICENSE__txt"],
)
def test_the_usual_names_are_known(name: str) -> None:
    assert found(**{name: MIT}) == "MIT"


def test_two_licences_are_no_single_one() -> None:
    assert found(LICENSE_MIT=MIT, LICENSE_BSD=BSD3) == "NOASSERTION"
    assert found(LICENSE=MIT, LICENSE_BSD=BSD3) == "NOASSERTION"
    assert found(LICENSE=MIT, COPYING=MIT) == "MIT"
    assert found(LICENSE=MIT, LICENSE_third_party="Parts of this are by others.") == "MIT"


COMMON = Path("/usr/share/common-licenses")


@pytest.mark.skipif(not COMMON.is_dir(), reason="this system keeps no texts of common licences")
@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("Apache-2.0", "Apache-2.0"), ("GPL-2", "GPL-2.0"), ("GPL-3", "GPL-3.0"), ("LGPL-2.1", "LGPL-2.1"),
        ("LGPL-3", "LGPL-3.0"), ("MPL-2.0", "MPL-2.0"), ("CC0-1.0", "CC0-1.0"), ("GPL-1", "NOASSERTION"),
        ("LGPL-2", "NOASSERTION"), ("GFDL-1.3", "NOASSERTION"), ("Artistic", "NOASSERTION"), ("MPL-1.1", "NOASSERTION"),
    ],
)  # fmt: skip
def test_long_texts_are_known_by_title_sentences_and_length(name: str, licence: str) -> None:
    text = COMMON / name
    if not text.is_file():
        pytest.skip(f"{name} is not here")
    assert found(COPYING=text.read_text(encoding="utf-8", errors="replace")) == licence
    if licence == "GPL-3.0":
        lesser = (COMMON / "LGPL-3").read_text(encoding="utf-8", errors="replace")
        assert found(COPYING=text.read_text(encoding="utf-8"), COPYING__LESSER=lesser) == "LGPL-3.0"
        assert (
            found(COPYING=text.read_text(encoding="utf-8") + "\nLinking exception: " + "word " * 200) == "NOASSERTION"
        )

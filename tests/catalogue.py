"""The catalogues of the interface: what the code marks, kept in `.po` files and compiled into the package.

    python -m tests.catalogue

takes new texts into each `.po` (to be translated there), drops dead ones, and compiles the `.mo`.
"""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from tui_agent.i18n import DOMAIN, FOLDER, TOLD

PACKAGE = Path(FOLDER).parent
MARKS = {"say": 1, "mark": 1, "count": 2}
"""Functions of `tui_agent.i18n`, and how many of their first arguments are texts."""
SETTING = "_setting"
"""Documents a setting, in words that `--help` and the screen of settings translate."""
Key = str | tuple[str, str]


def sources() -> Iterator[tuple[str, ast.Module]]:
    """The package's modules, by their path in it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE.parent).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def marked() -> dict[Key, list[str]]:
    """Each marked text (with its plural) and the modules that it stands in."""
    found: dict[Key, list[str]] = {}
    for place, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id == SETTING:
                for text in (*node.args[3:4], *(word.value for word in node.keywords if word.arg == "shown")):
                    if isinstance(text, ast.Constant) and " " in text.value:
                        found.setdefault(text.value, []).append(place)
                continue
            if node.func.id not in MARKS:
                continue
            texts = node.args[: MARKS[node.func.id]]
            assert not any(isinstance(text, ast.JoinedStr) for text in texts), f"{place}:{node.lineno}: an f-string"
            literals = [text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)]
            if len(literals) == len(texts):
                key: Key = literals[0] if len(literals) == 1 else (literals[0], literals[1])
                places = found.setdefault(key, [])
                if place not in places:
                    places.append(place)
    return found


def sentences() -> dict[str, list[str]]:
    """Every text of the code, as it is made, with `{}` in the place of what is put in, and where it stands."""
    found: dict[str, list[str]] = {}
    for place, tree in sources():
        for node in ast.walk(tree):
            text = ""
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            if text and place not in found.setdefault(text, []):
                found[text].append(place)
    return found


def bare(template: str) -> str:
    """A template without the names of its placeholders."""
    return "".join(text + ("" if name is None else "{}") for text, name, _, _ in Formatter().parse(template))


def placeholders(template: str) -> set[str]:
    """The names of a template's placeholders."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def po_file(locale: str) -> Path:
    """The file that people edit."""
    return Path(FOLDER, locale, "LC_MESSAGES", f"{DOMAIN}.po")


def read(locale: str) -> Catalog:
    """The texts of a language."""
    with po_file(locale).open("rb") as file:
        return read_po(file, locale=locale)


def messages(catalogue: Catalog) -> list[Message]:
    """The texts without the header."""
    return [message for message in catalogue if message.id]


def key_of(message: Message) -> Key:
    """A text as `marked` names it."""
    return message.id if isinstance(message.id, str) else (message.id[0], message.id[1])


def compiled(catalogue: Catalog) -> bytes:
    """What is read at run time; the same for the same texts."""
    # Babel would put the time of compiling into the header.
    catalogue.creation_date = catalogue.revision_date = datetime(2000, 1, 1, tzinfo=UTC)
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def update(locale: str) -> int:
    """Take the code's texts into a catalogue and compile it; how many wait for their translation."""
    old = read(locale)
    # The header with the glossary is kept to the letter.
    header, _, _ = po_file(locale).read_text(encoding="utf-8").partition("\n\n")
    new = Catalog(locale, charset="utf-8", fuzzy=False)
    waiting = 0
    for key, places in sorted(marked().items(), key=lambda one: (one[1], str(one[0]))):
        text = key if isinstance(key, str) else key[0]
        before = old.get(text)
        empty: str | tuple[str, ...] = "" if isinstance(key, str) else ("",)
        string = before.string if before is not None and before.id == key else empty
        waiting += not any(string)
        new.add(key, string, locations=[(place, None) for place in places])
    known = sentences()
    by_bare: dict[str, list[str]] = {}
    for text, places in known.items():
        by_bare.setdefault(text, []).extend(places)
    told = [message for message in messages(old) if message.context == TOLD and bare(message.id) in by_bare]
    for message in sorted(told, key=lambda one: (by_bare[bare(one.id)], one.id)):
        places = by_bare[bare(message.id)]
        new.add(message.id, message.string, locations=[(place, None) for place in places], context=TOLD)
    body = io.BytesIO()
    write_po(body, new, width=100, omit_header=True)
    po_file(locale).write_text(f"{header}\n\n{body.getvalue().decode().lstrip()}", encoding="utf-8")
    po_file(locale).with_suffix(".mo").write_bytes(compiled(read(locale)))
    return waiting


if __name__ == "__main__":
    for name in sorted(path.name for path in Path(FOLDER).iterdir()):
        print(name, "waiting for translation:", update(name))
    sys.exit(0)

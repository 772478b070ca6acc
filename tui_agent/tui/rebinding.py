"""Keys that the user has bound otherwise: `[keys]` of `config.toml`, checked, and told wherever keys are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from textual.binding import Binding
from textual.keys import Keys, _character_to_key, format_key, key_to_character

from tui_agent.safe_text import one_line
from tui_agent.tui.keys import BINDINGS

NAMES: Final[Mapping[str, str]] = {
    "rerun": "rerun",
    "rerun_no_cache": "rerun(True)",
    "cancel": "cancel",
    "ask": "ask(True)",
    "save": "save",
    "copy": "copy",
    "search": "search(True)",
    "zoom": "zoom",
    "history": "history",
    "changes": "changes",
    "next_run": "other_run(1)",
    "previous_run": "other_run(-1)",
    "explain": "explain",
    "options": "options",
    "help": "help",
    "palette": "command_palette",
    "quit": "quit",
    "reset": "hand('reset')",
    "reset_all": "hand('reset_all')",
    "isolate": "hand('isolate')",
    "fault": "hand('fault')",
    "trace": "pane(0)",
    "tool_calls": "pane(1)",
    "breakers": "pane(2)",
    "rate_limit": "pane(3)",
    "report": "pane(4)",
    "play": "walk('play')",
    "next_event": "walk('event', 1)",
    "previous_event": "walk('event', -1)",
    "next_turn": "walk('turn', 1)",
    "previous_turn": "walk('turn', -1)",
    "next_failure": "walk('failure', 1)",
    "previous_failure": "walk('failure', -1)",
    "faster": "walk('speed', 1)",
    "slower": "walk('speed', -1)",
    "start": "walk('start')",
    "end": "walk('end')",
    "time": "walk('time')",
    "leave": "walk('leave')",
}
"""What can be bound, as `[keys]` names it, and the action that it is."""
TAKEN: Final[frozenset[str]] = frozenset(
    "enter tab shift+tab up down left right home end pageup pagedown ctrl+c ctrl+q ctrl+j "
    "f c t v j k asterisk backspace".split()
)
"""Keys that lists, fields and panes have for themselves."""
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "meta", "super", "hyper"})
_KNOWN = frozenset(key.value for key in Keys)
# What stands for several bindings in one place.
_TOGETHER: Final[tuple[tuple[str, ...], ...]] = (
    ("previous_event", "next_event"),
    ("previous_turn", "next_turn"),
    ("next_failure", "previous_failure"),
    ("slower", "faster"),
    ("start", "end"),
    ("previous_run", "next_run"),
)
_PANES = ("trace", "tool_calls", "breakers", "rate_limit", "report")
_SHOWN = {"escape": "esc", "ctrl+p": "^p"}


@dataclass(frozen=True)
class Bound:
    """Which keys do what.

    Args:
        keys: each action's keys by its name; the first one is told.
        changed: names of those that are not as they were.
        troubles: a sentence for each wish that could not be fulfilled.
    """

    keys: Mapping[str, tuple[str, ...]]
    changed: frozenset[str] = frozenset()
    troubles: tuple[str, ...] = field(default=())

    def applied(self, bindings: Iterable[Binding]) -> list[Binding]:
        """Bindings with the user's keys in the place of theirs, in the same order."""
        if not self.changed:
            return list(bindings)
        by_action = {action: name for name, action in NAMES.items()}
        result: list[Binding] = []
        done: set[str] = set()
        for binding in bindings:
            name = by_action.get(binding.action, "")
            if name in self.changed:
                if name not in done:
                    done.add(name)
                    result += [replace(binding, key=key, key_display=self._told(name)) for key in self.keys[name]]
            else:
                result.append(replace(binding, key_display=self._told(name)) if self._is_beside(name) else binding)
        return result

    def shown(self, name: str) -> str:
        """An action's first key, as it is told."""
        return shown(self.keys[name][0])

    def of_action(self, action: str) -> str:
        """The keys of an action as they are told; "" where it has none. `ask` is `ask(True)` as well."""
        walked = action.replace("replay(", "walk(", 1)
        for name, known in NAMES.items():
            if known in (action, walked) or (action in ("ask", "search") and known == f"{action}(True)"):
                return " ".join(map(shown, self.keys[name]))
        return ""

    def told(self, keys: str) -> str:
        """Keys that a text names as they were at first, such as `[ ]`, as they are now."""
        if not self.changed:
            return keys
        if keys == "1–5":
            return self._told(_PANES[0])
        first = {shown(own[0]): name for name, own in reversed(list(DEFAULT.keys.items()))}
        return " ".join(self.shown(first[one]) if one in first else one for one in keys.split(" "))

    def _is_beside(self, name: str) -> bool:
        """Whether it stands for others too, of which one has changed."""
        return any(name in group and self.changed.intersection(group) for group in (*_TOGETHER, _PANES))

    def _told(self, name: str) -> str:
        for group in _TOGETHER:
            if name in group:
                return " ".join(map(self.shown, group))
        if name in _PANES and not self.changed.intersection(_PANES):
            return "1–5"
        if name in _PANES:
            return " ".join(map(self.shown, _PANES))
        return self.shown(name)


def shown(key: str) -> str:
    """A key as it is told: `?`, `^r`, `esc`."""
    if key in _SHOWN:
        return _SHOWN[key]
    *modifiers, last = key.split("+")
    return "".join("^" if one == "ctrl" else f"{one}+" for one in modifiers) + format_key(last)


def bound(wanted: Mapping[str, object]) -> Bound:
    """The keys as the user wants them, as far as they can be.

    Args:
        wanted: `[keys]`: for the name of an action a text of keys with commas between, or a list of them. `comma` is
            the comma.
    """
    if not wanted:
        return DEFAULT
    asked: dict[str, tuple[str, ...]] = {}
    troubles: list[str] = []
    for name, value in wanted.items():
        if name not in NAMES:
            troubles.append(f"there is no {one_line(name, 40)!r} (README, Keys)")
            continue
        try:
            asked[name] = _read(value)
        except ValueError as error:
            troubles.append(f"{name}: {error}")
    while True:
        keys = {**DEFAULT.keys, **asked}
        clash = next(((name, other, key) for name in asked for key, other in _others(name, keys)), None)
        if clash is None:
            break
        name, other, key = clash
        del asked[name]
        troubles.append(f"{name}: {shown(key)} is {other}")
    changed = frozenset(name for name, own in asked.items() if own != DEFAULT.keys[name])
    said = (f"[keys] in config.toml: {'; '.join(troubles)}. The usual keys hold there.",) if troubles else ()
    return Bound({**DEFAULT.keys, **asked}, changed, said)


def _others(name: str, keys: Mapping[str, tuple[str, ...]]) -> Iterable[tuple[str, str]]:
    """Keys of an action that do something else already, and what."""
    for key in keys[name]:
        if key in DEFAULT.keys[name]:
            # Two may share one from the beginning: `escape` leaves a replay, or cancels.
            continue
        if key in TAKEN:
            yield key, "a key of the panes and fields"
        for other, own in keys.items():
            if other != name and key in own:
                yield key, f"the key of {other}"


def _read(value: object) -> tuple[str, ...]:
    parts: Sequence[object] = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
    keys = [_key(part) for part in parts if isinstance(part, str) and part.strip()]
    if not keys or len(keys) != len(parts):
        raise ValueError("write a key, or several with commas between, in quotes")
    return tuple(dict.fromkeys(keys))


def _key(text: str) -> str:
    """A key by Textual's name for it.

    Raises:
        ValueError: there is no such key.
    """
    *modifiers, last = text.strip().split("+") if text.strip() != "+" else ["+"]
    if len(last) == 1:
        last = _character_to_key(last)
    ordered = [one.lower() for one in modifiers]
    key = "+".join((*ordered, last))
    known = key in _KNOWN or last in _KNOWN or key_to_character(last) is not None
    if not last or not set(ordered) <= _MODIFIERS or not known or not last.isprintable():
        raise ValueError(f"{one_line(text, 30)!r} is no key")
    return key


def _defaults() -> Bound:
    keys: dict[str, tuple[str, ...]] = {}
    for name, action in NAMES.items():
        keys[name] = tuple(binding.key for binding in BINDINGS if binding.action == action)
    return Bound(keys)


DEFAULT: Final = _defaults()

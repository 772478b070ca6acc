"""Whether a JSON object has the types that a dataclass asks for: a record may come from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST = 10**15
"""Past this a number is nonsense, and may be more than what prints it can take."""

_DEEPEST = 100
"""Levels of objects and lists within one another; whoever goes through them has only so much of a stack."""

Check = Callable[[Any], bool]


def is_shallow(data: Mapping[str, Any]) -> bool:
    """Whether an object nests no deeper than anything that the program writes by far."""
    level: list[Any] = [data]
    for _ in range(_DEEPEST):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return True
    return False


def fits(cls: type, data: Mapping[str, Any]) -> bool:
    """Whether every field that the object has is of the type that the class gives it; missing ones are not looked at.

    Args:
        cls: a dataclass of plain values: text, numbers, flags, choices, objects and lists of them.
        data: the object.
    """
    checks = _checks(cls)
    return all(checks[name](value) for name, value in data.items() if name in checks)


@cache
def _checks(cls: type) -> dict[str, Check]:
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]  # any dataclass has them
    return {name: _check(hint) for name, hint in get_type_hints(cls).items() if name in names and name != "type"}


def _check(hint: Any) -> Check:
    """What tells whether a value is of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        allowed = frozenset(arguments)
        return lambda value: isinstance(value, str) and value in allowed
    if origin in (Union, UnionType):
        checks = [_check(argument) for argument in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin is list:
        item = _check(arguments[0])
        return lambda value: isinstance(value, list) and all(map(item, value))
    if origin is tuple:
        # JSON has lists alone
        each = _check(arguments[0])
        return lambda value: isinstance(value, list | tuple) and all(map(each, value))
    if origin is dict:
        return lambda value: isinstance(value, dict)
    if hint in (int, float):
        kinds = (int,) if hint is int else (int, float)
        # NaN is less than nothing.
        return lambda value: isinstance(value, kinds) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST
    if hint is NoneType:
        return lambda value: value is None
    return lambda value: isinstance(value, hint)

"""Running sums over a list that grows: binary indexed trees (Fenwick, 1994); add, append and find in O(log n)."""

from __future__ import annotations


def append(sums: list[int], value: int) -> None:
    """One value more at the end."""
    at = len(sums) + 1
    stop, at = at - (at & -at), at - 1
    while at > stop:
        value += sums[at - 1]
        at -= at & -at
    sums.append(value)


def built(values: list[int]) -> list[int]:
    """The sums of values, in their place."""
    for at in range(1, len(values) + 1):
        above = at + (at & -at)
        if above <= len(values):
            values[above - 1] += values[at - 1]
    return values


def add(sums: list[int], index: int, delta: int) -> None:
    """A value grows by `delta`."""
    index += 1
    while index <= len(sums):
        sums[index - 1] += delta
        index += index & -index


def before(sums: list[int], index: int) -> int:
    """The sum of the values before an index."""
    total = 0
    while index:
        total += sums[index - 1]
        index -= index & -index
    return total


def find(sums: list[int], rest: int) -> tuple[int, int]:
    """The value in which the running sum passes `rest`, and what is left of `rest` in it."""
    at, step, size = 0, 1 << len(sums).bit_length(), len(sums)
    while step:
        after = at + step
        if after <= size and sums[after - 1] <= rest:
            at = after
            rest -= sums[after - 1]
        step >>= 1
    return at, rest

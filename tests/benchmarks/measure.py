"""Wall time, CPU time and peak memory of whole processes, measured in turns: a busy machine is fair to all of them."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Measured:
    """One command's runs: seconds, CPU seconds and peak resident MiB of each."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)

    @property
    def cpu_time(self) -> float:
        """Median CPU seconds, of user and system."""
        return statistics.median(self.cpu)

    @property
    def peak(self) -> float:
        """Median peak memory in MiB."""
        return statistics.median(self.memory)


def side_by_side(commands: dict[str, Sequence[str]], rounds: int, cwd: Path) -> dict[str, Measured]:
    """Run every command once a round, in turns.

    Args:
        commands: by a name.
        rounds: how often; one more, first, is not counted, unless it is a single round that judges nothing.
        cwd: where they run.

    Raises:
        RuntimeError: a command failed.
    """
    results = {name: Measured() for name in commands}
    for turn in range(rounds == 1, rounds + 1):
        for name, command in commands.items():
            seconds, cpu, memory = _once(command, cwd)
            if turn:
                results[name].seconds.append(seconds)
                results[name].cpu.append(cpu)
                results[name].memory.append(memory)
    return results


def _once(command: Sequence[str], cwd: Path) -> tuple[float, float, float]:
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}: {said.decode()[-500:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

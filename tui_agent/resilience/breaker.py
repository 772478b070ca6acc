"""The circuit breaker: after enough failures in a row, stop asking; later, ask once.

Closed: calls pass, consecutive failures are counted. Open: no call passes until `reset` seconds
are over. Half-open: one call, the probe, passes; the rest are turned away. The probe's answer
closes the breaker, its failure opens it again, its cancellation gives its place to the next.

The states follow Polly's and resilience4j's breakers; so does holding one open by hand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tui_agent.events import BreakerCause, BreakerChanged, BreakerState, Emit
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Answered, BreakerOpen, Trouble

T = TypeVar("T")


class Breaker:
    """One service's breaker.

    Args:
        name: a tool's name, `llm` or `snapshot`.
        threshold: consecutive failures that open it.
        reset: seconds from opening until a probe is admitted.
        clock: its monotonic time decides.
    """

    def __init__(self, name: str, threshold: int, reset: float, clock: Clock) -> None:
        self.name = name
        self.threshold = threshold
        self.reset_after = reset
        self.state: BreakerState = "closed"
        self.failures = 0
        self.isolated = False
        self._clock = clock
        self._probe_at = 0.0
        # Each change of state begins a new era; what was admitted in an earlier one no longer counts.
        self._era = 0

    @property
    def retry_in(self) -> float | None:
        """Seconds until a probe is admitted; None unless open, and while held open by hand."""
        if self.state != "open" or self.isolated:
            return None
        return max(0.0, self._probe_at - self._clock.monotonic())

    async def run(self, call: Call, step: Callable[[Admission], Awaitable[T]]) -> T:
        """The step's result, if the breaker lets it pass.

        Args:
            call: whose step it is.
            step: is handed its admission, which it renews when it comes to send after a wait.

        Raises:
            BreakerOpen: it does not; nothing was sent.
        """
        admission = Admission(self, call.emit, self._admit(call.emit))
        try:
            result = await step(admission)
        except Trouble:
            self._failed(admission.era, call.emit)
            raise
        except Answered:
            admission.answered()
            raise
        except BaseException:
            # cancelled, or never sent
            self._given_back(admission.era, call.emit)
            raise
        self._succeeded(admission.era, call.emit)
        return result

    def close(self, emit: Emit) -> None:
        """By hand: closed, counting from zero, whatever it was; also lets go one that was held open."""
        if self.state == "closed" and self.failures == 0:
            return
        self.isolated = False
        self.failures = 0
        self._change("closed", "user", emit)

    def isolate(self, emit: Emit) -> None:
        """By hand: held open until `close`; no probe is admitted."""
        if not self.isolated:
            self.isolated = True
            self._change("open", "user", emit)

    def _admit(self, emit: Emit) -> int:
        """The era that a call is let into."""
        if self.state == "open" and self.retry_in == 0.0:
            self._change("half_open", "probe", emit)
        elif self.state != "closed":
            raise BreakerOpen(self._refusal(), self.retry_in)
        return self._era

    def _refusal(self) -> str:
        if self.isolated:
            return f"The breaker of {self.name} is held open by the user; nothing was sent."
        if self.state == "half_open":
            return (
                f"The breaker of {self.name} is half-open and its probe is under way; nothing else is sent meanwhile."
            )
        return (
            f"The breaker of {self.name} is open after {self.failures} failures in a row; "
            f"nothing is sent for another {self.retry_in or 0.0:.0f} s."
        )

    def _failed(self, era: int, emit: Emit) -> None:
        if era != self._era:
            return
        self.failures = min(self.failures + 1, self.threshold)
        if self.state == "half_open":
            self._open("probe", emit)
        elif self.failures >= self.threshold:
            self._open("failures", emit)

    def _succeeded(self, era: int, emit: Emit) -> None:
        if era == self._era:
            if self.state == "closed":
                self.failures = 0
            self._answered(era, emit)

    def _answered(self, era: int, emit: Emit) -> None:
        # Below 500 is proof of life for a probe; in the closed state it counts neither way.
        if era == self._era and self.state == "half_open":
            self.failures = 0
            self._change("closed", "probe", emit)

    def _given_back(self, era: int, emit: Emit) -> None:
        # A probe that was cancelled, or never sent, proves nothing: the next caller is the probe.
        if era == self._era and self.state == "half_open":
            self._probe_at = self._clock.monotonic()
            self._change("open", "probe", emit)

    def _open(self, cause: BreakerCause, emit: Emit) -> None:
        self._probe_at = self._clock.monotonic() + self.reset_after
        self._change("open", cause, emit)

    def _change(self, state: BreakerState, cause: BreakerCause, emit: Emit) -> None:
        self.state = state
        self._era += 1
        emit(
            BreakerChanged(
                name=self.name,
                state=state,
                failures=self.failures,
                threshold=self.threshold,
                retry_in=self.retry_in,
                cause=cause,
            )
        )


class Admission:
    """One call's leave to ask the service.

    Args:
        breaker: who gave it.
        emit: where what follows from it is told.
        era: the breaker's era that it is good for.
    """

    def __init__(self, breaker: Breaker, emit: Emit, era: int) -> None:
        self.era = era
        self._breaker = breaker
        self._emit = emit

    def renew(self) -> None:
        """Ask again where the breaker has changed since: to be called right before sending.

        Raises:
            BreakerOpen: it lets no call pass any more.
        """
        if self.era != self._breaker._era:
            self.era = self._breaker._admit(self._emit)

    def answered(self) -> None:
        """The service said something below 500: proof of life for a probe, else it counts neither way."""
        self._breaker._answered(self.era, self._emit)

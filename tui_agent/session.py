"""A process of the program: settings and a request in, a run out. It chooses transports and puts the parts together.

Importing this costs next to nothing; what is heavy (openai, httpx, dulwich) is imported by `prepare`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.events import Emit, Event, Notice, RunFinished
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.settings import Settings

if TYPE_CHECKING:
    import httpx
    import openai

    from tui_agent.agent.guards import Guards
    from tui_agent.agent.llm import LanguageModel
    from tui_agent.agent.run import Plan, Run
    from tui_agent.github.address import Address
    from tui_agent.github.client import GitHubClient
    from tui_agent.transports.faults import FaultScript
    from tui_agent.transports.local_git import LocalTransport

_HEAVY = ("httpx", "openai", "tui_agent.agent.run", "tui_agent.transports.survey.model")
PUBLIC_API = "https://api.github.com"
SURVEY_URL = "http://survey.invalid/v1"
"""Never asked of any network: the survey's transport answers it."""


class Session:
    """What lives as long as the process: settings, layers, clients.

    Args:
        settings: all numbers and names.
        chaos: faults to inject from the start (`tui_agent.transports.faults`).
        clock: all time; None for the machine's.
        demo: the embedded repository, the embedded model and a script of faults.

    Raises:
        UsageError: the faults' specification cannot be understood.
    """

    def __init__(
        self, settings: Settings, *, chaos: str | None = None, clock: Clock | None = None, demo: bool = False
    ) -> None:
        self.settings = dataclasses.replace(settings, **demo_settings()) if demo else settings
        self._demo = demo
        self._clock = clock or SystemClock()
        self._chaos = chaos
        self._guards_made: Guards | None = None
        self._script_made: FaultScript | None = None
        self._listeners: list[Emit] = []
        self._running: list[Run] = []
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._told_hosts: set[str] = set()
        if chaos:
            self._script.add(chaos)

    # -- what the front ends call ---------------------------------------------------------------

    async def prepare(self) -> None:
        """Import what a run needs, without holding up the event loop."""
        for module in _HEAVY:
            await asyncio.to_thread(importlib.import_module, module)

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One analysis, from `run_started` to `run_finished`.

        Args:
            request: what is asked.
            emit: is handed every event.

        Raises:
            UsageError: the request cannot be understood; no event was emitted.
            asyncio.CancelledError: it was cancelled; `run_finished` has been emitted.
        """
        await self.prepare()
        run = await self._make_run(request, emit)
        self._running.append(run)
        try:
            return await run.execute()
        finally:
            self._running.remove(run)

    def listen(self, emit: Emit) -> None:
        """Hand on what happens between runs (`run_id` None)."""
        self._listeners.append(emit)

    def reset_breaker(self, name: str | None = None) -> None:
        """Close a breaker by hand; None closes all. One that was held open is let go."""
        self._guards.breakers.close(name, self._by_hand)

    def isolate_breaker(self, name: str) -> None:
        """Hold a breaker open until it is released or reset."""
        self._guards.breakers[name].isolate(self._by_hand)

    def release_breaker(self, name: str) -> None:
        """Let go a breaker that is held open: it closes."""
        self._guards.breakers[name].close(self._by_hand)

    def inject(self, spec: str) -> None:
        """Add faults (`NAME:FAULT[xN]`) to what is still to come.

        Raises:
            UsageError: one sentence.
        """
        self._script.add(spec)

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            with suppress(Exception):
                await client.aclose()

    # -- how a run is put together --------------------------------------------------------------

    async def _make_run(self, request: RunRequest, emit: Emit) -> Run:
        from tui_agent.agent.run import Run
        from tui_agent.transports.survey.writer import write_report

        if self._demo:
            return self._demo_run(request, emit)
        address = self._address(request.repo)
        engine = self._engine(request)
        notices = self._notices(address, engine)
        local = await self._open(address.local_path) if address.local_path else None
        client = self._github(address, local)
        model = self._survey_model() if engine == "survey" else self._language_model()
        plan = self._plan(request, address, engine, notices)
        uncommitted = local.uncommitted_changes if local else None
        return Run(plan, client, model, self._clock, emit, write_report, uncommitted)

    def _demo_run(self, request: RunRequest, emit: Emit) -> Run:
        """The same parts on other transports: the demo's server, the survey at a pace that a person can follow."""
        from tui_agent.agent.run import Plan, Run
        from tui_agent.transports import demo
        from tui_agent.transports.survey.model import SurveyTransport
        from tui_agent.transports.survey.writer import write_report

        self._script.clear()
        self._script.add(demo.FAULTS)
        server = demo.server(self._clock)
        client = self._client(self._wrapped(server, "snapshot"), "demo", "http://demo.invalid", None)
        model = self._embedded(self._wrapped(SurveyTransport(self._clock, pace=demo.PACE), "llm"))
        owner, name = demo.REPO.split("/")
        plan = Plan(
            owner=owner,
            name=name,
            source="local",
            question=request.question,
            preset=request.preset,
            lang=request.lang or self.settings.lang,
            engine="survey",
            notices=(Notice(level="info", text=demo.WELCOME),),
        )
        run = Run(plan, client, model, self._clock, emit, write_report)
        narrator = demo.Narrator(run.emit)

        def narrated(event: Event) -> None:
            # what is last stays last: the narrator speaks before the run's end, after all else
            if isinstance(event, RunFinished):
                narrator(event)
                emit(event)
            else:
                emit(event)
                narrator(event)

        run.sink = narrated
        return run

    def _address(self, text: str) -> Address:
        from tui_agent.github.address import parse

        return parse(text, api_url=self.settings.github_api_url)

    def _engine(self, request: RunRequest) -> Any:
        if request.engine == "llm" and not self.settings.api_key:
            raise UsageError("--engine llm needs a key: set API_KEY (or DEEPSEEK_API_KEY).")
        if request.engine == "auto":
            return "llm" if self.settings.api_key else "survey"
        return request.engine

    def _notices(self, address: Address, engine: str) -> tuple[Notice, ...]:
        notices: list[Notice] = []
        host = address.host
        if address.local_path is None and self.settings.github_api_url != PUBLIC_API and address.named_host != host:
            text = f"{address.full_name} is asked of {host}, since GITHUB_API_URL is set."
            notices.append(Notice(level="info", text=text))
        if engine == "survey":
            why = "No API key is set: t" if not self.settings.api_key else "T"
            text = f"{why}he built-in survey explores by rule and computes its report; no LLM takes part."
            notices.append(Notice(level="info", text=text))
        elif self.settings.base_url not in self._told_hosts:
            self._told_hosts.add(self.settings.base_url)
            text = f"The model at {_host(self.settings.base_url)} receives what the agent reads, under your API key."
            notices.append(Notice(level="info", text=text))
        return tuple(notices)

    async def _open(self, path: Path) -> LocalTransport:
        from tui_agent.transports.local_git import LocalRepositoryError, LocalTransport

        try:
            return await asyncio.to_thread(LocalTransport.open, path)
        except LocalRepositoryError as error:
            raise UsageError(str(error)) from error

    def _plan(self, request: RunRequest, address: Address, engine: Any, notices: tuple[Notice, ...]) -> Plan:
        from tui_agent.agent.prices import price_of
        from tui_agent.agent.run import Plan

        settings, local = self.settings, address.local_path is not None
        return Plan(
            owner=address.owner,
            name=address.name,
            source="local" if local else "github",
            ref=request.ref,
            tail=address.ref_and_path,
            question=request.question,
            preset=request.preset,
            lang=request.lang or settings.lang,
            engine=engine,
            max_turns=settings.max_turns,
            max_tokens=settings.max_tokens,
            window=settings.context_limit,
            price=price_of(settings.base_url, settings.model) if engine == "llm" else None,
            web=None if local else f"https://{address.host}/{address.full_name}",
            notices=notices,
        )

    def _github(self, address: Address, local: LocalTransport | None) -> GitHubClient:
        if local is not None:
            return self._client(self._wrapped(local, "snapshot"), "local:" + address.name, "http://local.invalid", None)
        url = self.settings.github_api_url
        return self._client(self._network("github"), url, url, self.settings.github_token)

    def _client(self, http: httpx.AsyncClient, gate: str, api_url: str, token: str | None) -> GitHubClient:
        """A client for GitHub's routes, through this process's layers.

        Args:
            http: whose transport answers.
            gate: which rate-limit gate it passes.
            api_url: where the routes begin.
            token: sent to that address, or None.
        """
        from tui_agent.github.client import GitHubClient

        guards = self._guards
        return GitHubClient(
            http,
            api_url=api_url,
            token=token,
            retry=guards.retry,
            breakers=guards.breakers,
            gate=guards.gate(gate),
            clock=self._clock,
            timeout=self.settings.request_timeout,
            redact=self._redactor(),
        )

    def _model(self, client: openai.AsyncOpenAI, name: str, endpoint: str) -> LanguageModel:
        """A model, through this process's layers."""
        from tui_agent.agent.llm import LanguageModel, ModelOptions

        options = ModelOptions(name, self.settings.llm_timeout, self.settings.llm_queue_timeout)
        pipeline = self._guards.model_pipeline(endpoint)
        return LanguageModel(client, options, pipeline, self._clock, self._redactor())

    def _language_model(self) -> LanguageModel:
        from openai import AsyncOpenAI

        settings = self.settings
        client = AsyncOpenAI(
            api_key=settings.api_key, base_url=settings.base_url, http_client=self._for_openai(self._network("llm"))
        )
        return self._model(client, settings.model, settings.base_url)

    def _survey_model(self) -> LanguageModel:
        from tui_agent.transports.survey.model import SurveyTransport

        if "survey" not in self._clients:
            self._clients["survey"] = self._wrapped(SurveyTransport(self._clock), "llm")
        return self._embedded(self._clients["survey"])

    def _embedded(self, http: httpx.AsyncClient) -> LanguageModel:
        """A model whose transport is the survey's: no key, no network."""
        from openai import AsyncOpenAI

        client = AsyncOpenAI(api_key="none", base_url=SURVEY_URL, http_client=self._for_openai(http))
        return self._model(client, "survey", SURVEY_URL)

    @staticmethod
    def _for_openai(http: httpx.AsyncClient) -> Any:
        # The SDK takes clients of httpx as well as of its own httpx2; its annotation names the latter alone.
        return http

    def _network(self, name: str) -> httpx.AsyncClient:
        from tui_agent.transports.network import NetworkTransport

        if name not in self._clients:
            self._clients[name] = self._wrapped(NetworkTransport(), name)
        return self._clients[name]

    def _wrapped(self, transport: httpx.AsyncBaseTransport, name: str) -> httpx.AsyncClient:
        """A client on a transport, with this process's faults around it."""
        import httpx

        from tui_agent.transports.faults import FaultTransport

        return httpx.AsyncClient(
            transport=FaultTransport(transport, self._script, self._clock, name), timeout=None, trust_env=False
        )

    # -- what is made on first use --------------------------------------------------------------

    @property
    def _guards(self) -> Guards:
        if self._guards_made is None:
            from tui_agent.agent.guards import Guards

            self._guards_made = Guards(self.settings, self._clock)
        return self._guards_made

    @property
    def _script(self) -> FaultScript:
        if self._script_made is None:
            from tui_agent.agent.guards import GUARDED
            from tui_agent.transports.faults import FaultScript

            self._script_made = FaultScript(frozenset(GUARDED))
        return self._script_made

    def _redactor(self) -> Any:
        from tui_agent.redact import Redactor

        return Redactor([self.settings.api_key, self.settings.github_token])

    def _by_hand(self, event: Event) -> None:
        """A user's hand on a breaker: told by the runs that are under way, else between runs."""
        if self._running:
            for run in self._running:
                run.emit(event)
        else:
            for emit in self._listeners:
                emit(event)


def demo_settings() -> dict[str, Any]:
    """What the demo sets, so that its breaker opens and closes while one watches."""
    return {"breaker_threshold": 3, "breaker_reset": 6.0, "base_delay": 1.5, "max_delay": 4.0, "max_rate_wait": 90.0}


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).hostname or url

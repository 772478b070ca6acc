"""How a run is put together: which transports stand under which clients, behind which layers.

One code path serves all: GitHub, a local repository, the survey and the demo differ only here. What
is heavy (openai, httpx, dulwich) is imported when the first run is made.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui_agent.events import Emit, Event, Notice, RunFinished
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import Clock
from tui_agent.safe_text import one_line
from tui_agent.settings import Settings

if TYPE_CHECKING:
    import httpx
    import openai

    from tui_agent.agent.guards import Guards
    from tui_agent.agent.llm import LanguageModel
    from tui_agent.agent.run import Run
    from tui_agent.github.address import Address
    from tui_agent.github.client import GitHubClient
    from tui_agent.tools.workspace import Workspace
    from tui_agent.transports.faults import FaultScript
    from tui_agent.transports.local_git import LocalTransport

SURVEY_URL = "http://survey.invalid/v1"
LOCAL_URL = "http://local.invalid"
"""Names that are asked of no network: a transport answers them."""
DEMO_SETTINGS: dict[str, Any] = {
    "breaker_threshold": 3,
    "breaker_reset": 6.0,
    "base_delay": 1.5,
    "max_delay": 4.0,
    "max_retries": 3,
    "max_rate_wait": 90.0,
}
"""What the demo sets, so that its breaker opens and closes while one watches."""

EngineName = Literal["llm", "survey"]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A request with its choices made, before anything heavy is imported.

    Args:
        request: as it was asked.
        address: the repository; None for the demo's own.
        engine: who decides.
        model: its name.
    """

    request: RunRequest
    address: Address | None
    engine: EngineName
    model: str

    @property
    def repo(self) -> str:
        """`owner/name` as it was asked for."""
        return self.address.full_name if self.address else "demo/tidepool"

    @property
    def source(self) -> Literal["github", "local"]:
        """Where the repository lies."""
        return "github" if self.address and self.address.local_path is None else "local"


class Assembly:
    """What lives as long as the process: layers, clients, the script of faults.

    Args:
        settings: all numbers and names.
        clock: all time.
        demo: the embedded repository and model take the place of what a request names.
    """

    def __init__(self, settings: Settings, clock: Clock, *, demo: bool) -> None:
        self.settings = dataclasses.replace(settings, **DEMO_SETTINGS) if demo else settings
        self.demo = demo
        self.clock = clock
        self.redact = Redactor([settings.api_key, settings.github_token])
        self._guards: Guards | None = None
        self._script: FaultScript | None = None
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._told_hosts: set[str] = set()

    @property
    def guards(self) -> Guards:
        """The layers, made on first use."""
        if self._guards is None:
            from tui_agent.agent.guards import Guards

            self._guards = Guards(self.settings, self.clock)
        return self._guards

    @property
    def script(self) -> FaultScript:
        """The faults to inject, made on first use."""
        if self._script is None:
            from tui_agent.agent.guards import GUARDED
            from tui_agent.transports.faults import FaultScript

            self._script = FaultScript(frozenset(GUARDED))
        return self._script

    def choose(self, request: RunRequest) -> Wanted:
        """The request with its choices made.

        Raises:
            UsageError: it cannot be understood.
        """
        if self.demo:
            return Wanted(request, None, "survey", "survey")
        from tui_agent.github.address import parse

        address = parse(request.repo, api_url=self.settings.github_api_url)
        if request.engine == "llm" and not self.settings.api_key:
            raise UsageError(f"--engine llm needs a key: {self.settings.key_wanted}.")
        engine = self.engine(request)
        return Wanted(request, address, engine, self.settings.model if engine == "llm" else "survey")

    def engine(self, request: RunRequest) -> EngineName:
        """Who decides."""
        llm = request.engine == "llm" or (request.engine == "auto" and bool(self.settings.api_key))
        return "llm" if llm else "survey"

    def bounds(self, engine: EngineName) -> dict[str, Any]:
        """What a run may spend; the survey spends no tokens and has no window."""
        from tui_agent.agent.context import ENDLESS
        from tui_agent.agent.prices import price_of

        settings = self.settings
        if engine == "survey":
            return {"max_turns": settings.max_turns, "window": ENDLESS}
        return {
            "max_turns": settings.max_turns,
            "max_tokens": settings.max_tokens,
            "window": settings.context_limit,
            "price": price_of(settings.base_url, settings.model),
        }

    async def make_run(self, wanted: Wanted, emit: Emit) -> Run:
        """A run, ready to be executed.

        Raises:
            UsageError: the local folder cannot be read as a repository.
        """
        if wanted.address is None:
            return self._demo_run(wanted, emit)
        from tui_agent.agent.plan import Plan
        from tui_agent.agent.run import Run

        address, request, settings = wanted.address, wanted.request, self.settings
        client, local = await self._reader(address, request)
        plan = Plan(
            owner=address.owner,
            name=address.name,
            source=wanted.source,
            ref=request.ref,
            tail=address.ref_and_path,
            question=request.question,
            preset=request.preset,
            lang=request.lang or settings.lang,
            engine=wanted.engine,
            **self.bounds(wanted.engine),
            web=None if local else f"https://{address.host}/{address.full_name}",
            notices=(*self._notices(wanted, address), *_whole_repository(address, local)),
        )
        model = self.model(wanted.engine)
        uncommitted = _uncommitted(local) if local else None
        return Run(plan, client, model, self.clock, emit, _write_report, uncommitted)

    async def workspace(self, wanted: Wanted, emit: Emit) -> Workspace:
        """The snapshot that a run would see and what reads it, for whoever asks without a run.

        Raises:
            UsageError: the local folder cannot be read as a repository.
            GitHubError, Trouble, Unavailable: there is no snapshot to be had.
        """
        from tui_agent.github.snapshot import take_snapshot
        from tui_agent.resilience.call import Call
        from tui_agent.tools.workspace import Workspace

        address, request = wanted.address, wanted.request
        assert address is not None
        client, _ = await self._reader(address, request)
        call = Call("snapshot", emit)
        owner, name, tail = address.owner, address.name, address.ref_and_path
        snapshot, _ = await take_snapshot(client, call, owner, name, ref=request.ref, tail=tail)
        return Workspace(client, snapshot)

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            with suppress(Exception):
                await client.aclose()

    def _demo_run(self, wanted: Wanted, emit: Emit) -> Run:
        """The same parts on other transports: a busy server, the survey at a pace that a person can follow."""
        from tui_agent.agent.guards import GUARDED
        from tui_agent.agent.plan import Plan
        from tui_agent.agent.run import Run
        from tui_agent.transports import demo
        from tui_agent.transports.faults import FaultScript, FaultTransport

        # The demo's own faults, anew for each run; the user's lie around them.
        script = FaultScript(frozenset(GUARDED))
        script.add(demo.FAULTS)
        server = FaultTransport(demo.server(self.clock), script, self.clock, "snapshot")
        client = self._client(self._wrapped(server, "snapshot"), "demo", LOCAL_URL, None)
        owner, name = wanted.repo.split("/")
        plan = Plan(
            owner=owner,
            name=name,
            source="local",
            question=wanted.request.question,
            preset=wanted.request.preset,
            lang=wanted.request.lang or self.settings.lang,
            engine="survey",
            notices=(Notice(level="info", text=demo.WELCOME),),
        )
        run = Run(plan, client, self._embedded("demo", demo.PACE), self.clock, emit, _write_report)
        narrator = demo.Narrator(run.emit)

        def narrated(event: Event) -> None:
            # The run's last event stays the last: there the narrator speaks first.
            if isinstance(event, RunFinished):
                narrator(event)
                emit(event)
            else:
                emit(event)
                narrator(event)

        run.sink = narrated
        return run

    def _notices(self, wanted: Wanted, address: Address) -> list[Notice]:
        from tui_agent.agent import notices

        told = notices.asked_elsewhere(address, self.settings.github_api_url)
        if address.local_path is None and Path(wanted.request.repo).is_dir():
            told.append(notices.folder_of_that_name(wanted.request.repo))
        if wanted.engine == "survey":
            variable = self.settings.key_names[0] if self.settings.chosen else ""
            told.append(notices.surveyed(has_key=bool(self.settings.api_key), variable=variable))
        elif self.settings.base_url not in self._told_hosts:
            self._told_hosts.add(self.settings.base_url)
            told.append(notices.receives(self.settings.base_url, has_key=self.settings.has_key))
        return told

    async def _open(self, address: Address) -> LocalTransport:
        from tui_agent.transports.local_git import LocalRepositoryError, LocalTransport

        assert address.local_path is not None
        try:
            local = await asyncio.to_thread(LocalTransport.open, address.local_path)
        except LocalRepositoryError as error:
            raise UsageError(str(error)) from error
        # A folder within a repository keeps the name that was asked for: nothing was renamed.
        local.name = address.full_name
        return local

    async def _reader(self, address: Address, request: RunRequest) -> tuple[GitHubClient, LocalTransport | None]:
        """What reads a repository; the transport of a local one as well."""
        local = await self._open(address) if address.local_path else None
        return (self._local(local, address.name) if local else await self._github(request)), local

    def _local(self, transport: LocalTransport, name: str) -> GitHubClient:
        # No attempt is timed: hashing a large folder takes its time, and there is no server that could hang.
        return self._client(self._wrapped(transport, "snapshot"), f"local:{name}", LOCAL_URL, None, timed=False)

    async def _github(self, request: RunRequest) -> GitHubClient:
        url, token, cached = self.settings.github_api_url, self.settings.github_token, not request.no_cache
        if cached:
            # hishel takes its time
            await asyncio.to_thread(importlib.import_module, "tui_agent.transports.cache")
        http = self._network("github", cached=cached)
        return self._client(http, url, url, token, cached=cached, refresh=request.refresh)

    def _client(
        self, http: httpx.AsyncClient, gate: str, api_url: str, token: str | None, *, timed: bool = True, **cache: bool
    ) -> GitHubClient:
        from tui_agent.github.client import GitHubClient

        return GitHubClient(
            http,
            api_url=api_url,
            token=token,
            retry=self.guards.retry,
            breakers=self.guards.breakers,
            gate=self.guards.gate(gate),
            clock=self.clock,
            timeout=self.settings.request_timeout if timed else None,
            redact=self.redact,
            **cache,
        )

    def model(self, engine: EngineName) -> LanguageModel:
        """The model of an engine."""
        if engine == "survey":
            return self._embedded("survey")
        settings = self.settings
        return self._model(self._network("llm"), settings.api_key or "", settings.model, settings.base_url)

    async def models(self, seconds: float) -> list[str]:
        """The names of the models that the endpoint has (`tui_agent.agent.model_list`)."""
        from tui_agent.agent.model_list import model_names

        http = self._network("llm")
        return await model_names(http, self.settings.base_url, self.settings.api_key or "", seconds)

    async def github(self) -> GitHubClient:
        """GitHub without a cache."""
        return await self._github(RunRequest(repo="", no_cache=True))

    def _embedded(self, name: str, pace: float = 0.0) -> LanguageModel:
        """The survey in a model's place: no key, no network."""
        from tui_agent.transports.survey.model import SurveyTransport

        if name not in self._clients:
            self._clients[name] = self._wrapped(SurveyTransport(self.clock, pace=pace), "llm")
        return self._model(self._clients[name], "none", "survey", SURVEY_URL)

    def _model(self, http: httpx.AsyncClient, key: str, name: str, url: str) -> LanguageModel:
        from openai import AsyncOpenAI

        from tui_agent.agent.llm import LanguageModel, ModelOptions

        # The SDK takes clients of httpx as well as of its own httpx2; its annotation names the latter alone.
        http_client: Any = http
        own_key = {"Authorization": f"Bearer {key}"}
        client: openai.AsyncOpenAI = AsyncOpenAI(
            api_key=key, base_url=url, default_headers=own_key, http_client=http_client
        )
        options = ModelOptions(name, self.settings.llm_timeout, self.settings.llm_queue_timeout, self.settings.quirks)
        return LanguageModel(client, options, self.guards.model_pipeline(url), self.clock, self.redact)

    def _network(self, name: str, *, cached: bool = False) -> httpx.AsyncClient:
        from tui_agent.transports.network import NetworkTransport, PlainTransport

        which = f"{name}, cached" if cached else name
        if which not in self._clients:
            transport: httpx.AsyncBaseTransport = NetworkTransport()
            if name == "llm":
                # the SDK would add the variables of another service (`OPENAI_*`) and its telemetry
                transport = PlainTransport(transport)
            if cached:
                from tui_agent.transports.cache import CacheTransport, cache_folder

                transport = CacheTransport(transport, cache_folder(), self.clock)
            self._clients[which] = self._wrapped(transport, name)
        return self._clients[which]

    def _wrapped(self, transport: httpx.AsyncBaseTransport, name: str) -> httpx.AsyncClient:
        """A client on a transport, with the process's faults around it."""
        import httpx

        from tui_agent.transports.faults import FaultTransport

        faulty = FaultTransport(transport, self.script, self.clock, name)
        return httpx.AsyncClient(transport=faulty, timeout=None, trust_env=False)


def _write_report(messages: list[dict[str, Any]]) -> str:
    """The survey's report, from what was observed; imported by the time that a model can have been lost."""
    from tui_agent.transports.survey.writer import write_report

    return write_report(messages)


def _whole_repository(address: Address, local: LocalTransport | None) -> tuple[Notice, ...]:
    """What is to be told where a folder within a repository was named."""
    if local is None or address.local_path is None or local.root == address.local_path.resolve():
        return ()
    text = f"The folder lies within the repository {one_line(str(local.root), 200)}, which is analysed as a whole."
    return (Notice(level="info", text=text),)


def _uncommitted(local: LocalTransport) -> Callable[[], Awaitable[int | None]]:
    """Counts uncommitted changes; None where a damaged repository lets nobody know."""

    async def count() -> int | None:
        from tui_agent.transports.local_git import LocalRepositoryError

        try:
            return await local.uncommitted_changes()
        except LocalRepositoryError:
            return None

    return count

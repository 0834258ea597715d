"""Session with one server: detects the protocol and sends requests with timeouts.
Questions of the server (``input_required``) go to ``asked``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from zot.features.mcp import protocol
from zot.features.mcp.elicitation import Elicitation, parse_question
from zot.features.mcp.list_cache import Era
from zot.features.mcp.protocol import Incoming, Link, McpError, McpNoAnswer, NeedsLogin, ServerClosed
from zot.system.background_tasks import BackgroundTasks

DISCOVER_S = 4.0  # for a server with an unknown protocol; a later answer still counts
MOST_ROUNDS = 10  # question rounds before one answer
MOST_PAGES = 100  # pages of one list
_STATE_ONLY_S = 0.1

Ask = Callable[[Elicitation], Awaitable[dict[str, Any]]]  # a server's question and its result
Progress = Callable[[str], None]

_CANCEL = {"action": "cancel"}


class McpSession:
    """Call ``open`` first. ``asked`` answers questions of the server; ``changed`` gets the changed list's kind."""

    def __init__(self, name: str, link: Link, *, asked: Ask | None, changed: Callable[[str], None]) -> None:
        self.name = name
        self.link = link
        self.era: Era = ""
        self.version = ""
        self.capabilities: dict[str, Any] = {}
        self.about = ""
        self._asked = asked
        self._changed = changed
        self._ids = 0
        self._progress: dict[str, Progress] = {}
        self._stirred: dict[str, Callable[[], None]] = {}
        self._questions = BackgroundTasks()
        self._asking: dict[int | str, asyncio.Task[None]] = {}  # by the id of the server's request
        self._open: set[int] = set()  # own pending requests
        link.hear = self._on_message

    @property
    def own_capabilities(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}, "url": {}}} if self._asked is not None else {}

    # --- protocol

    async def open(self, known: Era, seconds: float) -> None:
        """Detect the protocol and initialize; McpError without a common version."""
        try:
            async with asyncio.timeout(seconds):
                await (self._initialize() if known == "classic" else self._discover(known))
        except TimeoutError as error:
            raise McpNoAnswer(f"{self.name}: no answer within {seconds:g} s of its start") from error

    async def _discover(self, known: Era) -> None:
        """Tries ``server/discover``, and ``initialize`` if there is no answer; the first answer decides."""
        asking = asyncio.ensure_future(self._ask_to_discover(protocol.MODERN[0]))
        try:
            done, _ = await asyncio.wait({asking}, timeout=DISCOVER_S if known != "modern" else None)
            if done:
                failure = asking.exception()
                if failure is None:
                    return
                if isinstance(failure, ServerClosed | NeedsLogin) or not isinstance(failure, McpError):
                    raise failure
                await self._after_refusal(failure)
                return
            await self._whichever_answers(asking)
        finally:
            asking.cancel()

    async def _after_refusal(self, failure: McpError) -> None:
        """Retries with a version a stateless server names; other errors mean a stateful server."""
        supported = _names(protocol.object_in(failure.data).get("supported"))
        mutual = [version for version in protocol.MODERN if version in supported]
        if failure.code == protocol.UNSUPPORTED_VERSION and mutual:
            await self._ask_to_discover(mutual[0])
            return
        if failure.code == protocol.UNSUPPORTED_VERSION and supported and not set(supported) & set(protocol.CLASSIC):
            raise McpError(
                f"{self.name}: no common MCP version: it has {', '.join(supported)[:200]}; zot has "
                f"{', '.join((*protocol.MODERN, *protocol.CLASSIC))}"
            ) from failure
        await self._initialize()

    async def _whichever_answers(self, asking: asyncio.Future[None]) -> None:
        greeting = asyncio.ensure_future(self._initialize())
        try:
            pending: set[asyncio.Future[None]] = {asking, greeting}
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if any(task.exception() is None for task in done):
                    return
            raise greeting.exception() or McpError(f"{self.name}: no common MCP protocol version")
        finally:
            greeting.cancel()

    async def _ask_to_discover(self, version: str) -> None:
        self.link.headers["mcp-protocol-version"] = version
        params = {"_meta": protocol.meta(version, self.own_capabilities)}
        answer = protocol.fields(await self._one("server/discover", params))
        supported = _names(answer.get("supportedVersions"))
        mutual = [each for each in protocol.MODERN if each in supported]
        if not mutual:
            raise McpError(f"{self.name}: no common MCP protocol version", code=protocol.METHOD_NOT_FOUND)
        self.era, self.version = "modern", mutual[0]
        self.link.headers["mcp-protocol-version"] = self.version
        self._greeted(answer, answer.get("_meta"))

    async def _initialize(self) -> None:
        self.link.headers.pop("mcp-protocol-version", None)
        params = {
            "protocolVersion": protocol.CLASSIC[0],
            "capabilities": self.own_capabilities,
            "clientInfo": protocol.CLIENT,
        }
        answer = protocol.fields(await self._one("initialize", params))
        version = protocol.text_of(answer.get("protocolVersion"))
        if version not in protocol.CLASSIC:
            raise McpError(f"{self.name}: initialize returned unsupported version {version[:40]!r}")
        self.era, self.version = "classic", version
        self.link.headers["mcp-protocol-version"] = version
        self.link.notify(protocol.notification("notifications/initialized"))
        self._greeted(answer, answer)

    def _greeted(self, answer: dict[str, Any], about: Any) -> None:
        self.capabilities = protocol.object_in(answer.get("capabilities"))
        info = protocol.object_in(
            protocol.object_in(about).get("serverInfo") or protocol.object_in(about).get(f"{protocol.META}serverInfo")
        )
        self.about = " ".join(
            filter(None, (protocol.text_of(info.get("name")), protocol.text_of(info.get("version"))))
        )[:120]

    def offers(self, what: str) -> bool:
        return isinstance(self.capabilities.get(what), dict)

    # --- requests

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        seconds: float,
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> msgspec.Raw:
        """The result, after questions of the server. ``seconds`` limits silence; progress restarts it."""
        given = dict(params or {})
        for _ in range(MOST_ROUNDS):
            try:
                result = await self._bounded(method, given, headers or {}, seconds, progress)
            except McpError as error:
                if error.code != protocol.URL_ELICITATION or not await self._opened(error):
                    raise
                continue
            if self.era != "modern":
                return result
            read = protocol.fields(result)
            if read.get("resultType", "complete") != "input_required":
                return result
            given = {**(params or {}), **await self._input(read)}
        raise McpError(f"{self.name}: asked {MOST_ROUNDS} times without answering")

    async def _bounded(
        self,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str],
        seconds: float,
        progress: Progress | None,
    ) -> msgspec.Raw:
        meta: dict[str, Any] = {**protocol.object_in(params.get("_meta"))}
        if self.era == "modern":
            meta |= protocol.meta(self.version, self.own_capabilities)
        token = ""
        if progress is not None:
            token = f"p{self._ids + 1}"
            meta["progressToken"] = token
        sent = {**params, "_meta": meta} if meta else params
        try:
            async with asyncio.timeout(seconds) as bound:
                if progress is not None:
                    loop = asyncio.get_running_loop()
                    self._progress[token] = progress
                    self._stirred[token] = lambda: bound.reschedule(loop.time() + seconds)
                return await self._one(method, sent, headers)
        except TimeoutError as error:
            raise McpNoAnswer(f"{self.name}: no answer to {method} within {seconds:g} s") from error
        finally:
            self._progress.pop(token, None)
            self._stirred.pop(token, None)

    async def _one(self, method: str, params: dict[str, Any], headers: Mapping[str, str] | None = None) -> msgspec.Raw:
        """Send one message and await its answer; on cancellation the server is notified."""
        self._ids += 1
        id = self._ids
        self._open.add(id)
        try:
            own = {} if method == "initialize" or self.era == "classic" else protocol.headers_of(method, params)
            answer = await self.link.ask(id, {**own, **(headers or {})}, protocol.request(id, method, params))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and method not in ("initialize", "server/discover"):
                self.link.notify(
                    protocol.notification("notifications/cancelled", {"requestId": id, "reason": "cancelled"})
                )
            self._cancelled(id)
            raise
        self._open.discard(id)
        if answer.error is not None:
            raise protocol.error_of(self.name, answer.error)
        return answer.result

    def _cancelled(self, id: int) -> None:
        """Withdraw questions of a stateful server once no request is pending."""
        self._open.discard(id)
        for question, task in list(self._asking.items()) if not self._open else ():
            task.cancel()
            self.link.notify(protocol.answer(question, _CANCEL))

    async def _opened(self, error: McpError) -> bool:
        """A stateful server requires URLs to be opened: true if the user did."""
        wanted = [
            protocol.object_in(each) for each in protocol.list_in(protocol.object_in(error.data).get("elicitations"))
        ]
        if self._asked is None or not wanted:
            return False
        for each in wanted[:MOST_ROUNDS]:
            answer = await self._asked(parse_question(self.name, {**each, "mode": "url"}))
            if answer.get("action") != "accept":
                return False
        return True

    async def _input(self, read: dict[str, Any]) -> dict[str, Any]:
        """Ask the user what the server requires before it answers, one by one."""
        responses: dict[str, Any] = {}
        for key, wanted in list(protocol.object_in(read.get("inputRequests")).items())[:MOST_ROUNDS]:
            responses[key] = await self._answered(protocol.object_in(wanted))
        if not responses:
            await asyncio.sleep(_STATE_ONLY_S)
        given: dict[str, Any] = {"inputResponses": responses} if responses else {}
        if isinstance(state := read.get("requestState"), str):
            given["requestState"] = state
        return given

    async def _answered(self, wanted: dict[str, Any]) -> dict[str, Any]:
        method = protocol.text_of(wanted.get("method"))
        if method != "elicitation/create":
            raise McpError(f"{self.name}: requested {method[:60]!r}, which zot does not support")
        if self._asked is None:
            return _CANCEL
        return await self._asked(parse_question(self.name, protocol.object_in(wanted.get("params"))))

    async def pages(self, method: str, key: str, seconds: float) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        seen: set[str] = set()
        page: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = protocol.fields(await self.request(method, params, seconds=seconds))
            rows += [protocol.object_in(row) for row in protocol.list_in(page.get(key))]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in seen:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        return rows, page

    async def listen(self) -> None:
        """Subscribe to list changes, which only stateful stdio servers send unsubscribed."""
        if self.era == "classic" and (listen := getattr(self.link, "listen", None)) is not None:
            await listen()
            return
        kinds = [
            kind
            for kind in ("tools", "prompts", "resources")
            if protocol.object_in(self.capabilities.get(kind)).get("listChanged")
        ]
        if self.era != "modern" or not kinds:
            return
        wanted = {f"{kind}ListChanged": True for kind in kinds}
        params = {"notifications": wanted, "_meta": protocol.meta(self.version, self.own_capabilities)}
        await self._one("subscriptions/listen", params)

    # --- messages from the server

    def _on_message(self, message: Incoming) -> None:
        match message.method:
            case "notifications/progress":
                self._on_progress(protocol.fields(message.params))
            case "notifications/tools/list_changed" | "notifications/prompts/list_changed":
                self._changed(message.method.split("/")[1])
            case "notifications/resources/list_changed":
                self._changed("resources")
            case "ping" if message.id is not None:
                self.link.notify(protocol.answer(message.id, {}))
            case "elicitation/create" if (
                message.id is not None and self._asked is not None and len(self._asking) < MOST_ROUNDS
            ):
                self._begin_question(message, message.id)
            case "notifications/cancelled":
                wanted = protocol.fields(message.params).get("requestId")
                if isinstance(wanted, int | str) and (asking := self._asking.get(wanted)) is not None:
                    asking.cancel()
            case method if message.id is not None:
                self.link.notify(
                    protocol.error_response(message.id, protocol.METHOD_NOT_FOUND, f"unsupported method {method[:60]}")
                )
            case _:
                pass

    def _on_progress(self, params: dict[str, Any]) -> None:
        token = str(params.get("progressToken"))
        if (progress := self._progress.get(token)) is None:
            return
        self._stirred[token]()
        done, total = params.get("progress"), params.get("total")
        share = f"{done:g}" if isinstance(done, int | float) else ""
        share += f"/{total:g}" if share and isinstance(total, int | float) else ""
        progress(" ".join(filter(None, (share, protocol.text_of(params.get("message"))[:500]))))

    def _begin_question(self, message: Incoming, id: int | str) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            if self._asking.get(id) is task:  # a server may reuse an id
                del self._asking[id]

        task = self._asking[id] = self._questions.start(self._answer_question(message))
        task.add_done_callback(ended)

    async def _answer_question(self, message: Incoming) -> None:
        assert self._asked is not None
        try:
            question = parse_question(self.name, protocol.fields(message.params))
            self.link.notify(protocol.answer(message.id, await self._asked(question)))
        except McpError as error:
            self.link.notify(protocol.error_response(message.id, protocol.INVALID_PARAMS, str(error)))

    async def aclose(self, grace: float) -> None:
        self._questions.cancel()
        await self.link.aclose(grace)


def _names(value: Any) -> list[str]:
    return [item for item in protocol.list_in(value) if isinstance(item, str)]

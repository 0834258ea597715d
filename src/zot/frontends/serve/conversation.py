"""One conversation and its clients: one drives, the others watch. Events are numbered and the latest are kept, so that
a client that lost its connection gets what it missed. A client that does not read is cut off, never waited for."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from zot.errors import ZotError
from zot.frontends.serve import frames
from zot.frontends.serve.rpc_process import RpcProcess
from zot.wire import rpc_frames as wire
from zot.wire import screen_frames as screens
from zot.wire.rpc_codec import BadCommand

if TYPE_CHECKING:
    from zot.frontends.serve.rpc_link import RpcLink

RING_BYTES = 4 * 1024 * 1024
RING_LINES = 10_000
CLIENTS_MAX = 64
UNANSWERED_MAX = 256  # commands of one client
_STATE_S = 2.0

_ASKS = frozenset((b"approval_request", b"elicitation_request", b"question_request", b"plan_request", b"ext_dialog"))
# Events after which `get_messages` has everything before them, and those that follow until the next one.
_IN_MESSAGES = frozenset((b"user_message", b"assistant_message", b"done", b"compact_done", b"session_changed"))
_UNFINISHED = frozenset(
    (
        *(b"assistant_start", b"text_delta", b"thinking_delta", b"thinking_end", b"retry_wait"),
        *(b"tool_use_start", b"tool_use_args", b"tool_use_end", b"tool_call", b"tool_progress", b"tool_result"),
    )
)
_STANDING = frozenset((b"ext_panel", b"ext_panel_close", b"ext_surface"))
_CLOSES = frozenset((b"request_closed", b"ext_dialog_close", b"tool_result", b"done"))


class Client(Protocol):
    """A connection. ``send`` never waits; ``watches``: it can never drive."""

    name: str
    device: str
    watches: bool

    def send(self, line: bytes) -> None: ...

    def close(self, reason: str = "") -> None: ...


class ConversationState(msgspec.Struct):
    """Of ``get_state``, for lists of conversations."""

    busy: bool = False
    title: str = ""


class _Request(msgspec.Struct):
    request_id: str = ""
    tool_id: str = ""
    id: str = ""


class _ScreenName(msgspec.Struct):
    screen: str = ""


class _Shown(msgspec.Struct):
    """Of a panel or surface of an extension."""

    extension: str = ""
    panel_id: str = ""
    kind: str = ""
    name: str = ""
    value: Any = None


class _HostTerminal:
    """The terminal that shares its conversation, among the clients. It has its own way to everything."""

    name = "terminal"
    device = "terminal"
    watches = False

    def send(self, line: bytes) -> None: ...

    def close(self, reason: str = "") -> None: ...


class Conversation:
    """``on_over`` is called once, after its process ended. ``make_link`` is for one that a terminal shares."""

    def __init__(
        self, id: str, cwd: Path, on_over: Callable[[], None], make_link: Callable[..., RpcLink] = RpcProcess
    ) -> None:
        self.id = id
        self.cwd = cwd
        self.clients: list[Client] = []
        self.driver: Client | None = None
        self.alone_since = time.monotonic()
        self._frame_watchers: set[Client] = set()
        self._run = secrets.token_hex(8)
        self._seq = 0
        self._ring: deque[bytes] = deque()
        self._ring_bytes = 0
        self._open: dict[str, tuple[str, bytes]] = {}  # of each request the tool call, and its line
        self._unanswered: Counter[str] = Counter()
        self._standing: dict[tuple[Any, ...], bytes] = {}  # what extensions show
        self._screens: set[str] = set()  # clients for which a terminal is drawn
        self.link = make_link(self._on_event, self._ended)
        self._on_over = on_over
        self._is_over = False
        if self.link.has_terminal:
            self.driver = _HostTerminal()
            self.clients.append(self.driver)

    async def start(self, argv: Sequence[str]) -> None:
        assert isinstance(self.link, RpcProcess)
        await self.link.start(argv, self.cwd)
        self._report_sharing()

    async def greet(self) -> None:
        """For one that a terminal shares."""
        await self.link.greet()
        self._report_sharing()

    async def stop(self) -> None:
        await self.link.stop()

    @property
    def is_backlogged(self) -> bool:
        """True while a command is not written yet."""
        return self.link.is_backlogged

    async def is_working(self) -> bool:
        """True while it works. One that waits for an answer does not: no client is there to give it."""
        if self._open:
            return False
        return (await self.state()).busy

    async def state(self) -> ConversationState:
        """What the process says of itself; it has two seconds for it."""
        try:
            async with asyncio.timeout(_STATE_S):
                answer = await self.link.ask(wire.GetState())
            if answer is not None and answer.success and answer.data:
                return msgspec.json.decode(answer.data, type=ConversationState)
        except (TimeoutError, msgspec.MsgspecError):
            pass
        return ConversationState()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for an answer."""
        return len(self._open)

    # --- clients

    def join(self, client: Client, *, run: str = "", after: int | None = None) -> None:
        """Send the welcome, then what this client missed. ZotError if there is no room."""
        if len(self.clients) >= CLIENTS_MAX:
            raise ZotError(f"this conversation has {CLIENTS_MAX} clients; close one")
        self.clients.append(client)
        if self.driver is None and not client.watches:
            self.driver = client
        missed = self._after(run, after)
        partial = () if missed else self._unfinished()
        client.send(frames.encode(self._welcome(client, partial, is_incomplete=missed is None)))
        for line in missed or ():
            client.send(line)
        self._tell_clients(but=client)
        if self.driver is client:
            self._tell_driver(but=client)
        self._report_sharing()

    def leave(self, client: Client) -> None:
        if client not in self.clients:
            return
        self.clients.remove(client)
        self._watch_frames(client, False)
        self.alone_since = time.monotonic()
        self._tell_clients()
        if client.name in self._screens:
            self._screens.discard(client.name)
            self.link.request(screens.ScreenClose(screen=client.name), _no_matter)
        if self.driver is client:
            self.driver = next((each for each in self.clients if isinstance(each, _HostTerminal)), None)
            self._tell_driver()
        self._report_sharing()

    def _after(self, run: str, after: int | None) -> Sequence[bytes] | None:
        """The events after this one; None if some are no longer kept, or it is of another run."""
        if after is None:
            return ()
        first = self._seq - len(self._ring)  # the last event that is not kept
        if run != self._run or not first <= after <= self._seq:
            return None
        return [*self._ring][after - first :]

    def _unfinished(self) -> Sequence[bytes]:
        """The events of the running turn that are in no message yet."""
        found: list[bytes] = []
        for line in reversed(self._ring):
            start = line.find(b'"type":"') + 8
            kind = line[start : line.find(b'"', start)]
            if kind in _IN_MESSAGES:
                break
            if kind in _UNFINISHED:
                found.append(line)
        return found[::-1]

    def _welcome(self, client: Client, partial: Sequence[bytes], *, is_incomplete: bool) -> frames.Welcome:
        return frames.Welcome(
            conversation=self.id,
            cwd=str(self.cwd),
            run=self._run,
            seq=self._seq,
            missed=is_incomplete,
            client=client.name,
            driver=self.driver.name if self.driver else "",
            clients=self.client_list,
            open=tuple(msgspec.Raw(line) for _, line in self._open.values()),
            present=tuple(map(msgspec.Raw, (*self._standing.values(), *partial))),
        )

    @property
    def client_list(self) -> tuple[frames.ClientInfo, ...]:
        return tuple(frames.ClientInfo(client=c.name, device=c.device, watches=c.watches) for c in self.clients)

    def _tell_clients(self, but: Client | None = None) -> None:
        self._tell(frames.Clients(clients=self.client_list), but)

    def _tell_driver(self, but: Client | None = None) -> None:
        driver = self.driver
        name, device = (driver.name, driver.device) if driver else ("", "")
        self._tell(frames.DriverChanged(driver=name, device=device), but)

    def _tell(self, frame: msgspec.Struct, but: Client | None = None) -> None:
        line = frames.encode(frame)
        for client in [*self.clients]:
            if client is not but:
                client.send(line)

    # --- commands

    def receive(self, client: Client, data: bytes) -> None:
        """One message of a client."""
        try:
            command = frames.decode(data)
        except BadCommand as bad:
            _refuse(client, bad.id, bad.command, str(bad))
            return
        try:
            self._do(client, command)
        except ZotError as error:
            _refuse(client, command.id, _tag(command), str(error))

    def _do(self, client: Client, command: Any) -> None:
        if isinstance(command, frames.TakeOver):
            self._take_over(client)
        elif isinstance(command, frames.HandOver):
            self._hand_over(client, command.client)
        elif isinstance(command, wire.Hello):  # its capabilities are those of the conversation
            _answer(client, command, self.link.hello)
            return
        elif isinstance(command, screens.ScreenCommand):
            self._of_screen(client, command)
            return
        elif isinstance(command, wire.WatchFrames):
            self._watch_frames(client, command.on)
        elif client is self.driver or frames.may_watch(command):
            if isinstance(command, wire.Approve) and command.request_id in self._open:
                frames.check_call_hash(command, self._open[command.request_id][1])
            self._pass_on(client, command)
            return
        else:
            raise ZotError(_WATCHING if not client.watches else _ONLY_WATCHES)
        _answer(client, command)

    def _watch_frames(self, client: Client, on: bool) -> None:
        """Frames of extensions go to the clients that asked, without a number; the process sends them while one did."""
        before = bool(self._frame_watchers)
        (self._frame_watchers.add if on else self._frame_watchers.discard)(client)
        if before != bool(self._frame_watchers):
            self.link.request(wire.WatchFrames(on=not before), _no_matter)

    def _take_over(self, client: Client) -> None:
        if client.watches:
            raise ZotError(_ONLY_WATCHES)
        if self.driver is not client:
            self.driver = client
            self._tell_driver()
            self._report_sharing()

    def _hand_over(self, client: Client, to: str) -> None:
        if self.driver is not client:
            raise ZotError("only the driver hands over; `take_over` makes this client the driver")
        other = next((each for each in self.clients if each.name == to), None)
        if to and (other is None or other.watches):
            raise ZotError(f'no client "{to[:60]}" of this conversation can drive')
        self.driver = other
        self._tell_driver()
        self._report_sharing()

    # --- screens: zot's terminal, drawn by the process for a client

    def _of_screen(self, client: Client, command: Any) -> None:
        """A client has at most one, under its own name. Keys make it the driver, unless it only watches."""
        if isinstance(command, screens.Sharing):
            raise ZotError("only the server reports who shares a conversation")
        if isinstance(command, screens.ScreenOpen):
            self._screens.add(client.name)
            command = msgspec.structs.replace(command, watch=command.watch or client.watches)
        elif client.name not in self._screens:
            raise ZotError("no screen is open; send `screen_open` first")
        self._pass_on(client, msgspec.structs.replace(command, screen=client.name))
        if isinstance(command, screens.ScreenOpen):
            self._report_sharing()

    def _report_sharing(self) -> None:
        """For status bars of terminals. The first report makes the process keep what a later screen needs."""
        name, device = (self.driver.name, self.driver.device) if self.driver else ("", "")
        self.link.request(screens.Sharing(clients=len(self.clients), driver=name, device=device), _no_matter)

    def _on_screen_event(self, kind: bytes, line: bytes) -> None:
        """Output is for one client. A key on a screen makes its client the driver."""
        name = msgspec.json.decode(line, type=_ScreenName).screen
        client = next((each for each in self.clients if each.name == name), None)
        if client is None:
            return
        if kind == b"screen_typed":
            self._take_over(client)
        else:
            client.send(line)
        if kind == b"screen_closed":
            self._screens.discard(name)

    def _pass_on(self, client: Client, command: Any) -> None:
        if self._unanswered[client.name] >= UNANSWERED_MAX:
            raise ZotError(f"{UNANSWERED_MAX} commands wait for their answers; wait before sending more")

        def answered(answer: frames.Answer) -> None:
            self._unanswered[client.name] -= 1
            if not self._unanswered[client.name]:
                del self._unanswered[client.name]
            self._note_answer(command, answer)
            if client in self.clients:
                client.send(frames.encode(msgspec.structs.replace(answer, id=command.id, command=_tag(command))))

        self._unanswered[client.name] += 1
        if not self.link.request(command, answered):
            answered(frames.Answer(command=_tag(command), success=False, error="the conversation has ended"))

    def _note_answer(self, command: Any, answer: frames.Answer) -> None:
        """A request that was answered is over for every client; zot itself reports only some kinds."""
        if isinstance(command, wire.Approve | wire.AnswerElicitation) and answer.success:
            self._close_request(command.request_id)

    def _close_request(self, request_id: str) -> None:
        if self._open.pop(request_id, None) is not None:
            self._on_event(frames.encode(wire.RequestClosed(request_id=request_id)))

    # --- events

    def _on_event(self, line: bytes) -> None:
        kind = line[9 : line.find(b'"', 9)] if line.startswith(b'{"type":"') else b""
        if kind == b"ext_frame":
            for client in [*self._frame_watchers]:
                client.send(line)
            return
        if kind.startswith(b"screen_"):
            self._on_screen_event(kind, line)
            return
        if kind in _ASKS or kind in _CLOSES:
            self._note_request(kind, line)
        elif kind in _STANDING:
            self._note_standing(kind, line)
        self._seq += 1
        line = frames.numbered(self._seq, line)
        self._ring.append(line)
        self._ring_bytes += len(line)
        while self._ring_bytes > RING_BYTES or len(self._ring) > RING_LINES:
            self._ring_bytes -= len(self._ring.popleft())
        for client in [*self.clients]:
            client.send(line)

    def _note_request(self, kind: bytes, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line, type=_Request)
        except msgspec.MsgspecError:
            return
        if kind in _ASKS:
            self._open[found.request_id] = found.tool_id, line
        elif kind == b"tool_result":  # the call ended while it waited
            for request_id in [id for id, (call, _) in self._open.items() if call and call == found.id]:
                self._close_request(request_id)
        elif kind == b"done":
            for request_id in [id for id in self._open if id.startswith("elicitation-")]:
                self._close_request(request_id)
        else:
            self._open.pop(found.request_id, None)

    def _note_standing(self, kind: bytes, line: bytes) -> None:
        """What extensions show stays for clients that join later."""
        found = msgspec.json.decode(line, type=_Shown)
        key = kind.removesuffix(b"_close"), found.extension, found.panel_id, found.kind, found.name
        self._standing.pop(key, None)
        if kind == b"ext_panel" or (kind == b"ext_surface" and found.value is not None):
            self._standing[key] = line

    def _ended(self, reason: str) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._tell(frames.Ended(reason=reason))
        for client in [*self.clients]:
            client.close("the conversation ended")
        self._on_over()


def _no_matter(answer: frames.Answer) -> None:
    """Of a report that needs no answer."""


def _tag(command: Any) -> str:
    return str(command.__struct_config__.tag)


def _answer(client: Client, command: Any, data: Any = msgspec.UNSET) -> None:
    client.send(frames.encode(frames.Answer(id=command.id, command=_tag(command), success=True, data=data)))


def _refuse(client: Client, id: str | int, command: str, error: str) -> None:
    client.send(frames.encode(frames.Answer(id=id, command=command, success=False, error=error)))


_WATCHING = "this client watches; send `take_over` first"
_ONLY_WATCHES = "this connection only watches; connect without `watch` to drive"

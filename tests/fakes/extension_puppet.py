"""A real extension process that does what the test says: frames of the test go to its stdout, those of zot come back.

``talking`` builds a whole conversation with such extensions and a fake model.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.client import FakeClient
from tests.fakes.extensions import write_extension
from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.extension_ui import ExtensionUI
from zot.core.events import Diagnostic
from zot.features.extensions.feature import ExtensionsFeature
from zot.features.extensions.host import ExtensionHost

_BODY = """
import socket, threading

link = socket.create_connection(("127.0.0.1", {port}))
link.sendall(NAME.encode() + b"\\n")


def forward():
    for line in link.makefile("rb"):
        if line == b"exit\\n":
            os._exit(3)
        raw(line)


hello(*{capabilities!r})
threading.Thread(target=forward, daemon=True).start()
for frame in frames():
    link.sendall(json.dumps(frame).encode() + b"\\n")
    if frame["type"] == "shutdown":
        break
"""


class Puppet:
    """``frames`` are those that zot sent to the present process; ``answers`` answer its requests by method."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frames: list[dict[str, Any]] = []
        self.starts = 0
        self.handlers: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self._ids = itertools.count(1)
        self._changed = asyncio.Condition()
        self._writer: asyncio.StreamWriter | None = None

    # --- from the test

    def send(self, **frame: Any) -> None:
        assert self._writer is not None, f"{self.name} is not connected"
        self._writer.write(json.dumps(frame).encode() + b"\n")

    def die(self) -> None:
        assert self._writer is not None
        self._writer.write(b"exit\n")

    def begin(self, method: str, params: Any = None, **more: Any) -> str:
        """Send a request; returns its id."""
        id = str(more.pop("id", f"r{next(self._ids)}"))
        self.send(type="request", id=id, method=method, **({} if params is None else {"params": params}), **more)
        return id

    async def subscribe(self, *events: str, **frame: Any) -> None:
        """Observe ``events``; returns when zot has read the frame."""
        self.send(type="subscribe", events=list(events), **frame)
        await self.request("none")

    async def intercept(self, event: str, answer: Callable[[dict[str, Any]], dict[str, Any]], **options: Any) -> None:
        """Answer this interception with the keys that ``answer`` makes of the frame."""
        if not self.answers:
            self.handlers["event_intercept"] = self._intercepted
        self.answers[event] = answer
        await self.subscribe(intercept=[event], options={event: options} if options else {})

    def _intercepted(self, frame: dict[str, Any]) -> None:
        self.send(type="event_intercept_response", id=frame["id"], **self.answers[frame["event"]](frame))

    def asked(self, event: str) -> list[dict[str, Any]]:
        """The ``data`` of each interception of this event."""
        return [frame.get("data", {}) for frame in self.of("event_intercept", event=event)]

    def events(self, event: str) -> list[dict[str, Any]]:
        """The ``data`` of each observed event of this name."""
        return [frame.get("data", {}) for frame in self.of("event", event=event)]

    async def response(self, id: str) -> dict[str, Any]:
        return await self.frame("response", id=id)

    async def request(self, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
        """The whole response frame."""
        return await self.response(self.begin(method, params, **more))

    async def result(self, method: str, params: Any = None, **more: Any) -> Any:
        answer = await self.request(method, params, **more)
        assert "error" not in answer, answer
        return answer.get("result")

    async def error(self, method: str, params: Any = None, **more: Any) -> tuple[str, str]:
        """Code and message of the refusal."""
        answer = await self.request(method, params, **more)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    async def frame(self, type: str, **values: Any) -> dict[str, Any]:
        """The first frame of this type with these values, now or later."""

        def found() -> dict[str, Any] | None:
            return next((f for f in self.frames if f["type"] == type and values.items() <= f.items()), None)

        async with asyncio.timeout(15), self._changed:
            await self._changed.wait_for(lambda: found() is not None)
            frame = found()
            assert frame is not None
            return frame

    def of(self, type: str, **values: Any) -> list[dict[str, Any]]:
        return [f for f in self.frames if f["type"] == type and values.items() <= f.items()]

    async def started(self, times: int = 1) -> None:
        async with asyncio.timeout(15), self._changed:
            await self._changed.wait_for(lambda: self.starts >= times)

    # --- from the process

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer, self.frames = writer, []
        async with self._changed:
            self.starts += 1
            self._changed.notify_all()
        while line := await reader.readline():
            frame = json.loads(line)
            async with self._changed:
                self.frames.append(frame)
                self._changed.notify_all()
            if (handler := self.handlers.get(frame["type"])) is not None:
                handler(frame)


class FakeExtensionUI(ExtensionUI):
    """Records what it is asked to do."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str, str]] = []

    def notify(self, extension: str, level: str, message: str) -> None:
        self.notes.append((extension, level, message))


class Talk:
    """One conversation with its extensions."""

    def __init__(self, conversation: Conversation, client: FakeClient, puppets: Sequence[Puppet]) -> None:
        self.conversation = conversation
        self.client = client
        self.puppets = tuple(puppets)
        self.reported: list[Diagnostic] = []

    @property
    def host(self) -> ExtensionHost:
        feature = self.conversation.feature(ExtensionsFeature)
        assert feature is not None
        return feature.host


class Stage:
    """Where extensions are written before the conversation starts."""

    def __init__(self, root: Path, port: int) -> None:
        self.root = root
        self.puppets: dict[str, Puppet] = {}
        self.directories: list[Path] = []
        self._port = port

    def add(
        self,
        name: str = "x",
        uses: Sequence[str] = (),
        capabilities: Sequence[str] = ("edition2",),
        **manifest: Any,
    ) -> Puppet:
        body = _BODY.format(port=self._port, capabilities=tuple(capabilities))
        extras = {"uses": list(uses)} if uses else {}
        self.directories.append(write_extension(self.root / "extensions", name, body, **extras, **manifest))
        puppet = self.puppets[name] = Puppet(name)
        return puppet

    @asynccontextmanager
    async def talk(
        self,
        *answers: Any,
        surface: ExtensionUI | None = None,
        front_end: FrontEnd | None = None,
        **config: Any,
    ) -> AsyncGenerator[Talk]:
        """``answers`` are those of the fake model."""
        project = self.root / "project"
        project.mkdir(exist_ok=True)
        client = FakeClient(*answers)
        defaults: dict[str, Any] = {
            "provider": "script",
            "home": self.root / "home",
            "cwd": str(project),
            "ext": tuple(map(str, self.directories)),
            "installed_extensions": False,
            "context_files": False,
            "patient_with_ext": True,
        }
        front = front_end or FrontEnd(surface=surface or FakeExtensionUI())
        async with build(RunConfig(**(defaults | config)), front) as conversation:
            conversation.agent.client = client
            talk = Talk(conversation, client, tuple(self.puppets.values()))
            conversation.subscribe(talk.reported.append, Diagnostic)
            for puppet in self.puppets.values():
                await puppet.started()
                puppet.send(type="ready")
                await puppet.frame("hello_ack")
            yield talk


@asynccontextmanager
async def staging(root: Path) -> AsyncGenerator[Stage]:
    """Connects the processes of the stage's extensions with the test."""
    stages: list[Stage] = []
    served: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.add(task)
        name = (await reader.readline()).decode().strip()
        try:
            await stages[0].puppets[name].serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 24)
    stages.append(Stage(root, server.sockets[0].getsockname()[1]))
    try:
        yield stages[0]
    finally:
        server.close()
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)

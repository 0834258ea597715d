"""Plays zot's side of the second edition in one run: the greeting, and an answer to each request of the extension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast

import msgspec

from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.frame_transcript import Question, TranscriptLine
from zot.features.extensions.dialogs import DialogParams
from zot.features.extensions.requests import METHODS
from zot.wire import extension_frames
from zot.wire.extension_frames import Cancel, Contribute, Request, Response, ResponseError, Withdraw

Outcome = Literal["value", "cancelled", "unavailable", "timeout", "busy"]
MODES = ("terminal", "print", "json", "stream", "rpc", "sdk", "daemon", "subagent")

_METHOD_FEATURES = {
    **{"ui": "dialogs", "app": "session", "agent": "agents", "tools": "tools2", "commands": "tools2"},
    **{name: name for name in ("session", "chat", "model", "exec", "terminal", "editor", "settings", "secrets")},
    **{name: name for name in ("theme", "bus")},
}
_KIND_FEATURES = {
    **dict.fromkeys(("status", "widget", "header", "footer", "title", "working", "thinking"), "surfaces"),
    **dict.fromkeys(("border", "decoration", "keymap"), "editor"),
    **{"key": "keys", "completion": "completion", "renderer": "render", "provider": "providers"},
    "resource": "resources",
}
_USAGE = {"input_tokens": 3, "output_tokens": 2, "cache_read_tokens": 0, "cost_usd": 0.0}
_MODEL = {"provider": "anthropic", "model": "claude-sonnet-5-5", "reasoning": "off"}
RESULTS: dict[str, dict[str, Any]] = {
    "session.info": {
        **{"id": "s1", "cwd": "/", "started": "2026-01-01T00:00:00Z", "entries": 0, "usage": _USAGE, **_MODEL},
        **{"context_window": 200_000, "busy": False, "queued": 0, "permission_mode": "ask"},
    },
    "session.entries": {"entries": []},
    "session.list": {"sessions": []},
    "session.system": {"text": "You are zot.", "tools": ["read"]},
    "session.append": {"entry_id": "s1:1", "saved": True},
    "chat.send": {"entry_id": "s1:2", "queued": False},
    "model.list": {"models": []},
    "model.get": _MODEL,
    "model.set": _MODEL,
    "model.call": {"text": "a short answer", "stop": "end_turn", "usage": _USAGE, "model": "claude-sonnet-5-5"},
    "agent.run": {"text": "done", "status": "completed", "steps": 1, "usage": _USAGE},
    "tools.list": {"tools": []},
    "tools.active": {"active": ["read"]},
    "tools.call": {"content": [{"type": "text", "text": "a result"}], "is_error": False, "truncated": False},
    "commands.list": {"commands": []},
    "exec.run": {"code": 0, "stdout": "", "stderr": "", "truncated": False},
    "terminal.run": {"code": 0},
    "editor.get": {"text": "", "cursor": 0, "images": 0},
    "settings.get": {"values": {}},
    "secrets.get": {"value": "a-secret"},
    "theme.get": {"name": "dark", "base": "dark", "roles": {}},
    "theme.list": {"themes": ["dark"]},
    "bus.publish": {"delivered": 0},
}


class ChildRequest(msgspec.Struct, frozen=True):
    """A request of the extension, the open question it names as its parent, and all that were open."""

    frame: Request
    data: bytes
    t: float
    parent: Question | None
    open: tuple[Question, ...]

    @property
    def asks_user(self) -> bool:
        return self.frame.method == "ui.ask"


class PlayedHost:
    """``outcome`` is how dialogs end, ``busy`` for every request; ``held`` keeps requests open until ``release``."""

    def __init__(
        self,
        run: ExtensionRun,
        *,
        without: Iterable[str] = (),
        denied: Iterable[str] = (),
        mode: str = "terminal",
        conflicts: bool = False,
    ) -> None:
        self.run = run
        self.features = tuple(name for name in extension_frames.FEATURES if name not in set(without))
        self.granted = tuple(word for word in run.host.manifest.uses if word not in set(denied))
        self.mode = mode
        self.outcome: Outcome = "value"
        self.holds = False
        self.held: list[ChildRequest] = []
        self.requests: list[ChildRequest] = []
        self.contributed: list[tuple[Contribute, bytes, float]] = []
        self.withdrawn: list[Withdraw] = []
        self.at_start: set[tuple[str, str]] = set()  # kinds and names when it was ready
        self._conflicts = conflicts
        run.host.listeners.append(self._seen)

    async def greet(self, within: float) -> bool:
        """Hello, the acknowledgement of this edition, and the registrations."""
        hello = await self.run.host.hello(within)
        if hello is None or not self.run.host.alive:
            return False
        self.run.host.acknowledge(("call_tool",), **self.acknowledgement())
        await self.run.host.registered(within)
        await self.run.host.settle()
        self.at_start = {(frame.kind, frame.name) for frame, _, _ in self.contributed}
        self.run.usable = self.run.host.alive
        return self.run.usable

    def acknowledgement(self, state: Any = None) -> dict[str, Any]:
        """``state`` is what the process before a reload saved."""
        drawn = self.mode == "terminal"
        ui = {**dict.fromkeys(("dialogs", "surfaces", "panels", "editor"), drawn), "images": False}
        ui |= {"width": 80 if drawn else 0, "height": 24 if drawn else 0, "colors": 256 if drawn else 0}
        manifest = self.run.host.manifest
        return {
            "edition": 2,
            "features": self.features,
            "granted": self.granted,
            "mode": self.mode,
            "ui": ui,
            "session": {"id": "s1", "reason": "start" if state is None else "reload", "entries": 0},
            "flags": {flag.name: flag.default for flag in manifest.flags},
            "settings": {each.name: each.default for each in manifest.settings if not each.secret},
            "limits": {"line": 8 << 20, "open_requests": 64, "progress_hz": 20, "delta_ms": 100},
            **({} if state is None else {"state": state}),
        }

    def release(self, *requests: ChildRequest) -> None:
        for request in requests or tuple(self.held):
            self.held.remove(request)
            self._answer(request)

    def drop_held(self) -> None:
        """Their question was cancelled."""
        for request in self.held:
            self._respond(request.frame.id, error="cancelled")
        self.held.clear()

    def dialogs_of(self, question: Question) -> list[ChildRequest]:
        return [each for each in self.requests if each.asks_user and each.parent is question]

    # --- what comes from the extension

    def _seen(self, line: TranscriptLine) -> None:
        if line.direction == "out":
            return
        match line.frame:
            case Request() as frame:
                self._asked(frame, line)
            case Contribute() as frame:
                self.contributed.append((frame, line.data, line.t))
                if frame.id:
                    self._respond(frame.id, *self._verdict(frame))
            case Withdraw() as frame:
                self.withdrawn.append(frame)
                if frame.id:
                    self._respond(frame.id, {})
            case Cancel(id=id):
                for request in [each for each in self.held if each.frame.id == id]:
                    self.held.remove(request)
                    self._respond(id, error="cancelled")
            case _:
                pass

    def _asked(self, frame: Request, line: TranscriptLine) -> None:
        questions = self.run.host.transcript.questions.values()
        parent = next((each for each in questions if frame.parent_id and each.id == frame.parent_id), None)
        request = ChildRequest(frame, line.data, line.t, parent, tuple(each for each in questions if each.is_open))
        self.requests.append(request)
        if self.holds and parent is not None:
            self.held.append(request)
        else:
            self._answer(request)

    def _answer(self, request: ChildRequest) -> None:
        frame, method = request.frame, METHODS.get(request.frame.method)
        if method is None or method_feature(frame.method) not in self.features:
            self._respond(frame.id, error="unknown_method")
        elif method.word and method.word not in self.granted:
            self._respond(frame.id, error="denied")
        elif self.outcome == "busy":
            self._respond(frame.id, error="busy")
        elif request.asks_user:
            self._answer_dialog(frame)
        elif self.mode != "terminal" and frame.method.partition(".")[0] in ("editor", "terminal"):
            self._respond(frame.id, error="unavailable")
        else:
            self._respond(frame.id, RESULTS.get(frame.method, {}))

    def _answer_dialog(self, frame: Request) -> None:
        try:
            params = msgspec.convert(frame.params, DialogParams)
        except msgspec.ValidationError:
            self._respond(frame.id, error="bad_params")
            return
        if self.mode != "terminal" or self.outcome == "unavailable":
            self._respond(frame.id, error="unavailable")
        elif self.outcome == "cancelled":
            self._respond(frame.id, {"cancelled": True, "source": "person"})
        elif self.outcome == "timeout" and params.default is None:
            self._respond(frame.id, error="timeout")
        elif self.outcome == "timeout":
            self._respond(frame.id, {"value": params.default, "source": "timeout"})
        else:
            self._respond(frame.id, {"value": chosen(params), "source": "person"})

    def _verdict(self, frame: Contribute) -> tuple[Any, str]:
        if self._conflicts:
            return None, "conflict"
        return ({}, "") if kind_feature(frame.kind) in self.features else (None, "unknown_method")

    def _respond(self, id: str, result: Any = None, error: str = "") -> None:
        failed = ResponseError(code=error, message=f"{error}: said by `zot ext check`") if error else None
        self.run.host.send(Response(id=id, result=result, error=failed))


def method_feature(method: str) -> str:
    return _METHOD_FEATURES.get(method.partition(".")[0], "request")


def kind_feature(kind: str) -> str:
    return _KIND_FEATURES.get(kind, "contribute")


def chosen(params: DialogParams) -> Any:
    """What a user might answer."""
    options = [option.value for option in params.options if not option.disabled] or [""]
    match params.kind:
        case "confirm" | "url":
            return True
        case "select":
            return options[0]
        case "choose":
            return options[:1]
        case "input" | "editor":
            return params.text or (params.default if isinstance(params.default, str) else "") or "zot"
        case "form":
            return {field.name: _filled(field.kind, field.choices, field.default) for field in params.fields}


def _filled(kind: str, choices: tuple[str, ...], default: Any) -> Any:
    if default is not None:
        return default
    values: dict[str, Any] = {"number": 1.5, "integer": 1, "yes": True, "choices": list(choices[:1])}
    return choices[0] if kind == "choice" and choices else values.get(kind, "zot")


def params_of(frame: Request) -> dict[str, Any]:
    return cast("dict[str, Any]", frame.params) if isinstance(frame.params, dict) else {}

"""Contributions of extensions (second edition): one registry for status items, widgets, keys, commands, tools and the
rest. A value replaces the previous one whole. Surfaces are drawn at most 20 times a second each, the newest value."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from zot.agent.extension_ui import SURFACES
from zot.features.extensions.registry import NameRegistry, unusable_tool
from zot.features.extensions.requests import RequestError
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.agent.extension_ui import ExtensionUI
    from zot.features.extensions.child import ExtensionChild

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_OF_EDITOR = frozenset({"key", "keymap"})  # need a terminal
_CHECKED = frozenset({"key", "keymap", "decoration", "completion"})  # by ``editor_values``
_FRAMED = frozenset({"header", "footer"})  # refused to names that imitate zot


class Kind(NamedTuple):
    """``word`` of ``uses`` it needs; ``required`` keys with their types, ``optional`` ones."""

    word: str
    required: dict[str, type | tuple[type, ...]]
    optional: dict[str, type | tuple[type, ...]] = {}  # noqa: RUF012  a constant


_NUMBER = (int, float)
_LINE = (str, list)
KINDS: dict[str, Kind] = {
    "command": Kind("", {}, {"description": str, "arguments": str, "complete": bool, "headless": bool}),
    "tool": Kind("", {}),
    "key": Kind("keys", {"keys": list, "description": str}, {"command": str}),
    "status": Kind("ui", {"line": _LINE}, {"side": str, "order": int}),
    "widget": Kind("ui", {"lines": list}, {"place": str, "order": int}),
    "header": Kind("ui", {"lines": list}, {"replace": bool}),
    "footer": Kind("ui", {"lines": list}, {"replace": bool}),
    "title": Kind("ui", {"text": str}),
    "working": Kind("ui", {}, {"text": str, "frames": list, "every_ms": int, "visible": bool}),
    "thinking": Kind("ui", {"label": str}),
    "border": Kind("editor", {}, dict.fromkeys(("top_left", "top_right", "bottom_left", "bottom_right"), _LINE)),
    "decoration": Kind(
        "editor",
        {"styles": list},
        {"match": str, "pattern": str, "ignore_case": bool, "frames": list, "every_ms": int},
    ),
    "keymap": Kind("editor", {"start": str, "modes": dict}),
    "completion": Kind("editor", {"triggers": list}, {"min_chars": int, "description": str}),
    "renderer": Kind("", {"for": str, "match": list}),
    "provider": Kind(
        "provider",
        {"models": list},
        {
            **dict.fromkeys(("title", "api", "base_url"), str),
            **dict.fromkeys(("headers", "key"), dict),
            **dict.fromkeys(("stream", "refresh", "replace"), bool),
        },
    ),
    "resource": Kind("resources", {}, dict.fromkeys(("skills", "templates", "themes"), list)),
}
_CHOICES = {
    ("status", "side"): ("left", "right"),
    ("widget", "place"): ("above", "below"),
    ("renderer", "for"): ("tool", "message", "entry"),
}
_MOST = {("widget", "lines"): 12, ("header", "lines"): 20, ("footer", "lines"): 3, ("key", "keys"): 3}


class Contribution(msgspec.Struct, frozen=True, eq=False):
    child: ExtensionChild
    kind: str
    name: str
    value: dict[str, Any]

    @property
    def extension(self) -> str:
        return self.child.name


class Contributions:
    """``registry`` has commands and tools, those of the first edition's frames too. ``special`` handles kinds that are
    no surface; it may raise RequestError. ``require_word`` raises RequestError without the grant."""

    def __init__(
        self,
        surface: ExtensionUI,
        registry: NameRegistry,
        require_word: Callable[[ExtensionChild, str, str], None],
        on_tools_changed: Callable[[ExtensionChild, str], None],
    ) -> None:
        self._surface = surface
        self._registry = registry
        self._on_tools_changed = on_tools_changed
        self._require_word = require_word
        self._items: dict[tuple[str, str, str], Contribution] = {}
        self._drawn: dict[tuple[str, str, str], float] = {}
        self._pending: dict[tuple[str, str, str], asyncio.TimerHandle] = {}
        self._stale: dict[tuple[str, str, str], asyncio.TimerHandle] = {}
        self._rate: dict[str, tuple[int, int]] = {}
        self.special: dict[str, Callable[[ExtensionChild, str, dict[str, Any] | None], None]] = {}

    def of_kind(self, kind: str) -> list[Contribution]:
        """In the order they were first contributed."""
        return [item for (_, of, _), item in self._items.items() if of == kind and item.child.alive]

    @property
    def complete(self) -> bool:
        """True if one of them completes words or arguments."""
        return any(
            kind == "completion" or item.value.get("complete") is True for (_, kind, _), item in self._items.items()
        )

    def renders(self, of: str, name: str) -> bool:
        renderers = (item.value for item in self._items.values() if item.kind == "renderer")
        return any(value["for"] == of and name in value["match"] for value in renderers)

    def find(self, extension: str, kind: str, name: str) -> Contribution | None:
        return self._items.get((extension, kind, name))

    def contributed(self, child: ExtensionChild, frame: extension_frames.Contribute) -> None:
        if frame.kind in SURFACES and not self._within_rate(child):
            return
        try:
            self._contribute(child, frame)
        except RequestError as error:
            self._report(child, frame.id, error)
            return
        if frame.id:
            child.send(extension_frames.Response(id=frame.id, result={}))

    def withdrawn(self, child: ExtensionChild, frame: extension_frames.Withdraw) -> None:
        key = (child.name, frame.kind, frame.name)
        if frame.kind in ("command", "tool"):
            self._registry.withdraw(child, frame.kind, frame.name)
            self._items.pop((child.name, frame.kind, frame.name.lower()), None)
            if frame.kind == "tool":
                self._on_tools_changed(child, frame.name)
        elif self._items.pop(key, None) is not None:
            self._forget_timers(key)
            self._remove(child, key)
        if frame.id:
            child.send(extension_frames.Response(id=frame.id, result={}))

    # --- the end of a process

    def child_ended(self, child: ExtensionChild) -> None:
        """Surfaces stay, dimmed, for a new process to renew them; everything else goes now."""
        for key, item in list(self._items.items()):
            if item.child is not child and item.extension != child.name:
                continue
            self._forget_timers(key)
            if item.kind in SURFACES:
                self._surface.contribute(item.extension, item.kind, item.name, item.value, stale=True)
                loop = asyncio.get_running_loop()
                self._stale[key] = loop.call_later(limits.STALE_SURFACE, self._drop_stale, key)
            else:
                del self._items[key]
                self._remove(item.child, key)

    def readied(self, child: ExtensionChild) -> None:
        """The new process has registered: what it did not renew goes."""
        for key in [key for key in self._stale if key[0] == child.name]:
            self._drop_stale(key)

    def close(self) -> None:
        for timer in (*self._pending.values(), *self._stale.values()):
            timer.cancel()

    def _drop_stale(self, key: tuple[str, str, str]) -> None:
        if (timer := self._stale.pop(key, None)) is not None:
            timer.cancel()
            self._items.pop(key, None)
            self._surface.withdraw(*key)

    # --- inside

    def _contribute(self, child: ExtensionChild, frame: extension_frames.Contribute) -> None:
        kind = KINDS.get(frame.kind)
        if kind is None:
            raise RequestError("unknown_method", f"unknown kind of contribution {frame.kind[:60]!r}")
        value = check_value(frame.kind, kind, frame.value)
        word = _word(frame.kind, kind, value, child)
        if word:
            self._require_word(child, word, f"contribute {frame.kind}")
        if frame.kind in _FRAMED and imitates_zot(child.name):
            raise RequestError("denied", f"contribute {frame.kind}: the name {child.name!r} could be taken for zot's")
        if frame.kind in ("command", "tool"):
            self._register_named(child, frame, value)
            return
        if not _NAME.fullmatch(frame.name):
            raise RequestError("bad_params", "name: expected 1 to 64 letters, digits, _, . or -")
        key = (child.name, frame.kind, frame.name)
        if key not in self._items and self._count(child, frame.kind) >= limits.CONTRIBUTIONS:
            raise RequestError("too_large", f"at most {limits.CONTRIBUTIONS} contributions of kind {frame.kind}")
        if frame.kind in _CHECKED:
            value = self._checked(child, frame.kind, value)
        item = Contribution(child, frame.kind, frame.name, value)
        if frame.kind in SURFACES:
            self._items[key] = item
            if (timer := self._stale.pop(key, None)) is not None:
                timer.cancel()
            self._draw_soon(key)
            return
        if (special := self.special.get(frame.kind)) is not None:
            special(child, frame.name, value)
        elif conflict := self._surface.contribute(child.name, frame.kind, frame.name, value):
            raise RequestError("conflict", conflict)
        self._items[key] = item

    def _checked(self, child: ExtensionChild, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        if kind in _OF_EDITOR and not self._surface.ui_info().editor:
            raise RequestError("unavailable", f"contribute {kind}: this mode has no editor")
        from zot.features.extensions.editor_values import checked  # few extensions have any

        return checked(kind, child, value)

    def _register_named(self, child: ExtensionChild, frame: extension_frames.Contribute, value: dict[str, Any]) -> None:
        struct = extension_frames.RegisterCommand if frame.kind == "command" else extension_frames.RegisterTool
        known = {key: item for key, item in value.items() if key in struct.__struct_fields__ and item is not None}
        try:
            registration = msgspec.convert({**known, "name": frame.name, "type": _tag(struct)}, struct)
        except msgspec.ValidationError as error:
            raise RequestError("bad_params", str(error)) from None
        if isinstance(registration, extension_frames.RegisterTool):
            if reason := unusable_tool(registration):
                raise RequestError("bad_params", reason)
            self._check_count(child, frame, child.tools)
            conflict = self._registry.contribute_tool(child, registration)
            self._on_tools_changed(child, "")
        else:
            self._check_count(child, frame, child.commands)
            conflict = self._registry.contribute_command(child, registration)
            key = frame.name.lower()
            self._items[child.name, "command", key] = Contribution(child, "command", key, value)
        if conflict:
            raise RequestError("bad_params" if conflict.startswith("name:") else "conflict", conflict)

    def _check_count(self, child: ExtensionChild, frame: extension_frames.Contribute, known: Collection[str]) -> None:
        if frame.name not in known and frame.name.lower() not in known and len(known) >= limits.CONTRIBUTIONS:
            raise RequestError("too_large", f"at most {limits.CONTRIBUTIONS} contributions of kind {frame.kind}")

    def _draw_soon(self, key: tuple[str, str, str]) -> None:
        """At most every 50 ms; the newest value counts."""
        if key in self._pending:
            return
        wait = self._drawn.get(key, 0.0) + limits.SURFACE_INTERVAL - time.monotonic()
        if wait <= 0:
            self._draw(key)
        else:
            self._pending[key] = asyncio.get_running_loop().call_later(wait, self._draw, key)

    def _draw(self, key: tuple[str, str, str]) -> None:
        self._pending.pop(key, None)
        if (item := self._items.get(key)) is not None:
            self._drawn[key] = time.monotonic()
            self._surface.contribute(item.extension, item.kind, item.name, item.value)

    def _remove(self, child: ExtensionChild, key: tuple[str, str, str]) -> None:
        if (special := self.special.get(key[1])) is not None:
            special(child, key[2], None)
        else:
            self._surface.withdraw(*key)

    def _forget_timers(self, key: tuple[str, str, str]) -> None:
        self._drawn.pop(key, None)
        for timers in (self._pending, self._stale):
            if (timer := timers.pop(key, None)) is not None:
                timer.cancel()

    def _count(self, child: ExtensionChild, kind: str) -> int:
        return sum(name == child.name and of == kind for name, of, _ in self._items)

    def _within_rate(self, child: ExtensionChild) -> bool:
        second = int(time.monotonic())
        at, count = self._rate.get(child.name, (second, 0))
        count = count + 1 if at == second else 1
        self._rate[child.name] = (second, count)
        if count == limits.FRAMES_PER_SECOND + 1:
            most = limits.FRAMES_PER_SECOND
            child.fault("too many frames", f"sent more than {most} contributions in a second; some were dropped")
        return count <= limits.FRAMES_PER_SECOND

    def _report(self, child: ExtensionChild, id: str, error: RequestError) -> None:
        if id:
            failed = extension_frames.ResponseError(code=error.code, message=str(error))
            child.send(extension_frames.Response(id=id, error=failed))
        elif error.code != "unavailable":  # a place this mode lacks is no mistake
            child.fault(f"contribution {error.code}", f"a contribution was not accepted: {error}")


def check_value(name: str, kind: Kind, value: Any) -> dict[str, Any]:
    """The value as an object; RequestError names the first wrong key. Unknown keys are ignored."""
    if not isinstance(value, dict):
        raise RequestError("bad_params", "value: expected an object")
    fields = {key: item for key, item in cast("dict[str, Any]", value).items() if item is not None}
    for key in kind.required:
        if key not in fields:
            raise RequestError("bad_params", f"value.{key}: missing")
    for key, item in fields.items():
        expected = kind.required.get(key) or kind.optional.get(key)
        if expected is None:
            continue
        if not isinstance(item, expected) or (isinstance(item, bool) and expected is not bool):
            raise RequestError("bad_params", f"value.{key}: expected {_described(expected)}")
        if (choices := _CHOICES.get((name, key))) and item not in choices:
            raise RequestError("bad_params", f"value.{key}: expected {' or '.join(choices)}")
        if (most := _MOST.get((name, key))) and len(cast("list[Any]", item)) > most:
            raise RequestError("too_large", f"value.{key}: at most {most}")
    return fields


def _described(expected: type | tuple[type, ...]) -> str:
    names = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "an object"}
    kinds: Iterable[type] = expected if isinstance(expected, tuple) else (expected,)
    return " or ".join(names.get(kind, kind.__name__) for kind in kinds)


def _word(name: str, kind: Kind, value: dict[str, Any], child: ExtensionChild) -> str:
    if name == "renderer":  # its own tools and kinds of entries need no word
        own = value["for"] != "tool" or all(tool in child.tools for tool in value["match"])
        return "" if own else "render"
    return kind.word


def _tag(struct: type[msgspec.Struct]) -> str:
    return str(struct.__struct_config__.tag)


# --- names

_SIMILAR = "0135\u0131\u0456\u043e\u03bf\u0455\u03b6\u03c4\u0442\u0430\u0440\u0443\u043c\u0435\u04cf"
_LOOKALIKES = str.maketrans(_SIMILAR, "olesiiooszttapymel")


def imitates_zot(name: str) -> bool:
    """True for names that could be taken for zot itself, also by case and similar letters."""
    import unicodedata

    folded = unicodedata.normalize("NFKC", name).casefold().translate(_LOOKALIKES)
    plain = re.sub(r"[^a-z]", "", folded)
    return plain in ("zot", "system", "approval")

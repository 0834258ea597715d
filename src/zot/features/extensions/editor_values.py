"""Checks values of contributions to the editor: keys, keymaps, decorations, completions. What cannot be used is left
out with a diagnostic; RequestError if nothing is left."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from zot.features.extensions.requests import RequestError
from zot.features.extensions.text_pattern import BadPattern, TextPattern

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild

Value = dict[str, Any]
ACTIONS = frozenset(
    (
        *("left", "right", "up", "down", "word_left", "word_right", "line_start", "line_end"),
        *("text_start", "text_end", "delete", "backspace", "delete_word", "delete_line"),
        *("undo", "redo", "newline", "submit", "pass"),
    )
)
NEVER_MAPPED = frozenset({"ctrl+c", "ctrl+d"})
_FUNCTION_KEYS = frozenset(f"f{number}" for number in range(1, 13))
_MODIFIERS = ("ctrl", "alt", "shift", "super")  # in the order of key names
_COMMAND = re.compile(r"/[A-Za-z0-9_:.-]+(?: .*)?")
_MOST_MODES, _MOST_KEYS, _DEEPEST = 20, 200, 3
_LONGEST = 200
_MOST_STYLES, _MOST_FRAMES = 100, 100
_LEAST_MS = 50


def checked(kind: str, child: ExtensionChild, value: Value) -> Value:
    return _CHECKS[kind](child, value)


def key_name(name: str) -> str:
    """A chord in zot's spelling, ``ctrl+alt+p``."""
    *modifiers, key = name.strip().lower().split("+") if not name.endswith("++") else [*name[:-2].split("+"), "+"]
    return "+".join([*(word for word in _MODIFIERS if word in modifiers), key])


def _key(child: ExtensionChild, value: Value) -> Value:
    names = [key_name(name) for name in value["keys"] if isinstance(name, str)]
    if not names or len(names) != len(value["keys"]):
        raise RequestError("bad_params", "value.keys: expected one to three names of keys, such as ctrl+alt+p")
    for name in names:
        if name not in _FUNCTION_KEYS and not {"ctrl", "alt"} & set(name.split("+")[:-1]):
            raise RequestError("bad_params", f"value.keys: {name[:40]}: a key needs ctrl or alt, or is a function key")
        if name in NEVER_MAPPED:
            raise RequestError("conflict", f"{name} belongs to zot")
    command = value.get("command", "")
    if command and not _COMMAND.fullmatch(command):
        raise RequestError("bad_params", "value.command: expected a slash command")
    return {**value, "keys": names}


# --- keymaps


def _keymap(child: ExtensionChild, value: Value) -> Value:
    modes = cast("Value", value["modes"])
    if not 1 <= len(modes) <= _MOST_MODES:
        raise RequestError("bad_params", f"value.modes: expected 1 to {_MOST_MODES}")
    if value["start"] not in modes:
        raise RequestError("bad_params", "value.start: expected the name of a mode")
    return {"start": value["start"], "modes": {name: _mode(child, name, mode, modes) for name, mode in modes.items()}}


def _mode(child: ExtensionChild, name: str, mode: Any, modes: Value) -> Value:
    if not isinstance(mode, dict):
        raise RequestError("bad_params", f"value.modes.{name[:40]}: expected an object")
    fields = cast("Value", mode)
    keys: Any = fields.get("keys") or {}
    if not isinstance(keys, dict) or len(cast("Value", keys)) > _MOST_KEYS:
        raise RequestError("bad_params", f"value.modes.{name[:40]}.keys: expected at most {_MOST_KEYS}")
    usable: Value = {}
    for key, action in cast("Value", keys).items():
        spelled = key if len(key) == 1 else key_name(key)
        if spelled in NEVER_MAPPED:
            child.fault("unmappable key", f"keymap: {spelled} cannot be mapped")
        elif problem := _action_problem(action, modes, 0):
            child.fault(f"unknown action {problem}", f"keymap: {name[:40]}: {key[:40]}: {problem}; it does nothing")
        else:
            usable[spelled] = action
    ignores = fields.get("printable") == "ignore"
    return {"label": fields.get("label"), "printable": "ignore" if ignores else "insert", "keys": usable}


def _action_problem(action: Any, modes: Value, depth: int) -> str:
    """Why an action cannot be run; empty if it can."""
    if isinstance(action, str):
        return "" if action in ACTIONS else f"unknown action {action[:40]!r}"
    if not isinstance(action, dict) or len(cast("Value", action)) != 1:
        return "expected an action"
    (name, value), *_ = cast("Value", action).items()
    match name:
        case "mode":
            return "" if value in modes else f"unknown mode {str(value)[:40]!r}"
        case "command":
            usable = isinstance(value, str) and _COMMAND.fullmatch(value) is not None and len(value) <= _LONGEST
            return "" if usable else "command: expected a slash command"
        case "ask":
            return "" if isinstance(value, str) and 0 < len(value) <= _LONGEST else "ask: expected a name"
        case "then" if isinstance(value, list) and depth < _DEEPEST:
            steps = cast("list[Any]", value)
            if len(steps) > _MOST_MODES:
                return f"then: at most {_MOST_MODES} actions"
            return next(filter(None, (_action_problem(step, modes, depth + 1) for step in steps)), "")
        case _:
            return f"unknown action {name[:40]!r}"


# --- decorations and completions


def _decoration(child: ExtensionChild, value: Value) -> Value:
    match, pattern = value.get("match", ""), value.get("pattern", "")
    if bool(match) == bool(pattern):
        raise RequestError("bad_params", "value: expected match or pattern")
    if len(match) > _LONGEST:
        raise RequestError("too_large", f"value.match: at most {_LONGEST} characters")
    if pattern and (problem := _pattern_problem(pattern)):
        raise RequestError("bad_params", f"value.pattern: {problem}")
    if not _are_styles(value["styles"]):
        raise RequestError("bad_params", "value.styles: expected one or more objects with style, fg or bg")
    frames = cast("list[Any]", value.get("frames") or [])
    if len(frames) > _MOST_FRAMES or not all(_are_styles(styles) for styles in frames):
        raise RequestError("bad_params", f"value.frames: expected at most {_MOST_FRAMES} lists of styles")
    return {**value, "every_ms": max(value.get("every_ms") or 0, _LEAST_MS)} if frames else value


@lru_cache(256)  # the same pattern may come a thousand times a second
def _pattern_problem(pattern: str) -> str:
    try:
        TextPattern(pattern)
    except BadPattern as error:
        return str(error)
    return ""


def _are_styles(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    styles = cast("list[Any]", value)
    return 0 < len(styles) <= _MOST_STYLES and all(isinstance(style, dict) for style in styles)


def _completion(child: ExtensionChild, value: Value) -> Value:
    triggers = value["triggers"]
    if not 1 <= len(triggers) <= 10 or not all(_is_trigger(each) for each in triggers):
        raise RequestError("bad_params", "value.triggers: expected one to ten single characters, not / or !")
    return value


def _is_trigger(value: Any) -> bool:
    if not isinstance(value, str) or len(value) != 1:
        return False
    return value.isprintable() and not value.isspace() and value not in "/!"


_CHECKS: dict[str, Callable[[ExtensionChild, Value], Value]] = {
    "key": _key,
    "keymap": _keymap,
    "decoration": _decoration,
    "completion": _completion,
}
KINDS = frozenset(_CHECKS)

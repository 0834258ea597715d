"""Settings and flags that a manifest declares: a flat subset of JSON Schema. Values of settings are stored in
``config.json`` under ``extensions``, secret ones with the credentials."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import msgspec

from zot.errors import ExtensionError, UsageError, closest_match

Type = Literal["string", "integer", "number", "boolean", "list"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_FLAG = re.compile(r"[a-z][a-z0-9-]{0,39}")
_MOST, _LONGEST_PATTERN = 50, 200
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
}
_EXPECTED = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list",
}


class Declared(msgspec.Struct, frozen=True):
    """One setting or flag. ``secret``: kept with the credentials, and never in ``config.json``."""

    name: str
    type: Type = "string"
    title: str = ""
    description: str = ""
    default: Any = None
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str = ""
    secret: bool = False

    def problem_of(self, value: Any) -> str:
        """Why it cannot be a value; empty if it can."""
        if not isinstance(value, _KINDS[self.type]) or (isinstance(value, bool) and self.type != "boolean"):
            return f"expected {_EXPECTED[self.type]}"
        if self.enum and value not in self.enum:
            return f"expected one of {', '.join(map(str, self.enum))}"
        if self.minimum is not None and value < self.minimum:
            return f"expected at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"expected at most {self.maximum:g}"
        if self.pattern and not re.search(self.pattern, str(value)):
            return f"does not match {self.pattern}"
        return ""

    def parse(self, text: str) -> Any:
        """A value typed by the user; UsageError if it is none."""
        try:
            value = self._converted(text.strip())
        except ValueError:
            raise UsageError(f"{self.name}: expected {_EXPECTED[self.type]}") from None
        if problem := self.problem_of(value):
            raise UsageError(f"{self.name}: {problem}")
        return value

    def _converted(self, text: str) -> Any:
        match self.type:
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                word = text.lower()
                if word not in ("true", "false", "yes", "no", "on", "off"):
                    raise ValueError
                return word in ("true", "yes", "on")
            case "list":
                return [part.strip() for part in text.split(",") if part.strip()]
            case _:
                return text


def read_declared(key: str, value: Any) -> tuple[tuple[Declared, ...], tuple[str, ...]]:
    """``settings`` or ``flags`` of a manifest, and remarks; ExtensionError for one that cannot be used."""
    if not isinstance(value, dict):
        raise ExtensionError(f'extension.json: "{key}" must be an object')
    found: list[Declared] = []
    remarks: list[str] = []
    fields = cast("dict[str, Any]", value)
    if len(fields) > _MOST:
        raise ExtensionError(f'extension.json: "{key}" has more than {_MOST} entries')
    for name, field in fields.items():
        where = f'extension.json: "{key}.{name}"'
        if not (_FLAG if key == "flags" else _NAME).fullmatch(name):
            raise ExtensionError(f"{where}: invalid name")
        if not isinstance(field, dict):
            raise ExtensionError(f"{where} must be an object")
        known = cast("dict[str, Any]", field)
        try:
            declared = msgspec.convert({**known, "name": name}, Declared)
        except msgspec.ValidationError as error:
            raise ExtensionError(f"{where}: {error}") from None
        _check(where, declared)
        remarks += _slips(f"{key}.{name}", known)
        found.append(declared)
    return tuple(found), tuple(remarks)


def _check(where: str, declared: Declared) -> None:
    try:
        if len(declared.pattern) > _LONGEST_PATTERN:
            raise ExtensionError(f"{where}: pattern: more than {_LONGEST_PATTERN} characters")
        re.compile(declared.pattern)
    except re.error as error:
        raise ExtensionError(f"{where}: pattern: {error}") from None
    if declared.type not in ("integer", "number") and (declared.minimum, declared.maximum) != (None, None):
        raise ExtensionError(f"{where}: minimum and maximum are for integer and number")
    if declared.secret and declared.default is not None:
        raise ExtensionError(f"{where}: a secret has no default")
    if declared.default is not None and (problem := declared.problem_of(declared.default)):
        raise ExtensionError(f"{where}: default: {problem}")


def _slips(where: str, fields: Mapping[str, Any]) -> list[str]:
    unknown = [name for name in fields if name not in Declared.__struct_fields__]
    nearest = {name: closest_match(name, Declared.__struct_fields__) for name in unknown}
    return [f'"{name}" is not a key of {where}; did you mean "{near}"?' for name, near in nearest.items() if near]


def current_values(
    declared: tuple[Declared, ...], stored: Mapping[str, Any], report: Callable[[str], None]
) -> dict[str, Any]:
    """Each setting with its value or default, without secrets; a value that does not fit is reported."""
    values: dict[str, Any] = {}
    for setting in declared:
        if setting.secret:
            continue
        value = stored.get(setting.name)
        if value is not None and (problem := setting.problem_of(value)):
            report(f"setting {setting.name}: {problem}; the default is used")
            value = None
        values[setting.name] = setting.default if value is None else value
    return {name: value for name, value in values.items() if value is not None}


def secret_place(extension: str, name: str) -> str:
    """Where the credential store keeps a secret setting."""
    return f"extension:{extension}:{name}"

"""Parses the arguments of a call leniently: numeric strings, integral floats, boolean words, null as absent.
Other mismatches raise ToolError with the field's name."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from zot.errors import ToolError

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}


class ToolArguments:
    """One call's arguments, and the tool's name for the errors."""

    def __init__(self, tool: str, values: Any) -> None:
        if not isinstance(values, dict):
            raise ToolError(f"{tool}: the arguments must be a JSON object")
        self._tool = tool
        self._values: dict[str, Any] = values

    def text(self, field: str) -> str:
        """A required string, which may be empty."""
        value = self._values.get(field)
        if value is None:
            raise self.error(f"'{field}' is required")
        if not isinstance(value, str):
            raise self.error(f"'{field}' must be a string")
        return value

    def filled_text(self, field: str) -> str:
        """A required string that is not blank."""
        value = self.text(field)
        if not value.strip():
            raise self.error(f"'{field}' is required and must not be blank")
        return value

    def optional_text(self, field: str, default: str = "") -> str:
        return default if self._values.get(field) is None else self.text(field)

    def integer(self, field: str, default: int = 0) -> int:
        value = self._values.get(field)
        if value is None or value == "":
            return default
        number = _integral(value)
        if number is None:
            raise self.error(f"'{field}' must be an integer, not {_shown(value)}")
        return number

    def flag(self, field: str) -> bool:
        value = self._values.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        known = _BOOLEANS.get(str(value).strip().lower())
        if known is None:
            raise self.error(f"'{field}' must be true or false, not {_shown(value)}")
        return known

    def objects(self, field: str) -> list[ToolArguments]:
        """A required list of objects; a JSON string of one is accepted."""
        value: Any = self._values.get(field)
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise self.error(f"'{field}' must be a list of objects") from error
        items: Any = [value] if isinstance(value, dict) else value
        if not isinstance(items, list) or not items:
            raise self.error(f"'{field}' is required: a list with at least one object")
        return [self._nested(field, number, item) for number, item in enumerate(cast("list[Any]", items), 1)]

    def error(self, what: str) -> ToolError:
        return ToolError(f"{self._tool}: {what}")

    def _nested(self, field: str, number: int, item: Any) -> ToolArguments:
        if not isinstance(item, dict):
            raise self.error(f"'{field}' item {number} must be an object")
        return ToolArguments(f"{self._tool}: {field} {number}", item)


def _integral(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = float(value) if any(c in value for c in ".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shown(value: Any) -> str:
    return repr(value)[:60]

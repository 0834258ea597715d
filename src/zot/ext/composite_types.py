"""Composite parameter types: enums, dataclasses, typed dicts, tuples, sets, dates, times, paths. Types are recognised
by their attributes, so that their modules are not imported."""

from __future__ import annotations

import sys

from zot.ext.typed_tools import BadArguments

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    SchemaOf = Callable[[Any, str], dict[str, Any]]
    Fit = Callable[[Any, Any, str], Any]

_TEXTS = {  # by module and name: its format in schemas
    ("datetime", "date"): "date",
    ("datetime", "datetime"): "date-time",
    ("datetime", "time"): "time",
    ("pathlib", "Path"): "path",
    ("pathlib", "PurePath"): "path",
    ("pathlib", "PurePosixPath"): "path",
    ("uuid", "UUID"): "uuid",
}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema(kind: Any, args: tuple[Any, ...], name: str, of: SchemaOf) -> dict[str, Any] | None:
    """The JSON Schema of a type; None if unknown. ``of`` creates those of its parts."""
    if members := getattr(kind, "__members__", None):
        values = [member.value for member in members.values()]
        types: set[str] = {_JSON.get(type(value), "") for value in values}  # pyright: ignore[reportUnknownArgumentType]
        return {**({"type": types.pop()} if len(types) == 1 and "" not in types else {}), "enum": values}
    if (fields := _fields(kind)) is not None:
        properties = {field: of(part, f"{name}.{field}") for field, part in fields.items()}
        made: dict[str, Any] = {"type": "object", "properties": properties}
        return {**made, "required": required} if (required := _required(kind)) else made
    if kind in (tuple, set, frozenset):
        unique = {} if kind is tuple else {"uniqueItems": True}
        if kind is tuple and args and args[-1] is not ...:
            return {"type": "array", "prefixItems": [of(part, name) for part in args], "minItems": len(args)}
        return {"type": "array", **({"items": of(args[0], name)} if args else {}), **unique}
    if form := _format(kind):
        return {"type": "string", "format": form}
    return None


def fit(value: Any, kind: Any, args: tuple[Any, ...], where: str, part: Fit) -> Any:
    """The model's value for the function; ``part`` converts nested values."""
    if members := getattr(kind, "__members__", None):
        for member in members.values():
            if member.value == value and type(member.value) is type(value):
                return member
        raise BadArguments(f"{where}: expected one of {', '.join(repr(m.value) for m in members.values())}")
    if (fields := _fields(kind)) is not None:
        if not isinstance(value, dict):
            raise BadArguments(f"{where}: expected an object with {', '.join(fields)}")
        missing = [name for name in _required(kind) if name not in value]
        if missing:
            raise BadArguments(f"{where}: missing: {', '.join(missing)}")
        return kind(**{name: part(value[name], fields[name], f"{where}.{name}") for name in fields if name in value})
    if kind in (tuple, set, frozenset):
        return _fit_items(value, kind, args, where, part)
    if not isinstance(value, str):
        raise BadArguments(f"{where}: expected a string ({_format(kind)})")
    try:
        return kind.fromisoformat(value) if hasattr(kind, "fromisoformat") else kind(value)
    except ValueError as error:
        raise BadArguments(f"{where}: {error}") from error


def as_json(value: Any) -> Any:
    """A default as JSON; None if it has no JSON form."""
    kind: Any = value.__class__
    if hasattr(kind, "__members__"):
        return value.value
    if isinstance(value, tuple | set | frozenset):
        return None
    return (value.isoformat() if hasattr(value, "isoformat") else str(value)) if _format(kind) else None


def _fit_items(value: Any, kind: Any, args: tuple[Any, ...], where: str, part: Fit) -> Any:
    if not isinstance(value, list):
        raise BadArguments(f"{where}: expected an array")
    items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]  a JSON array
    if kind is tuple and args and args[-1] is not ...:
        if len(items) != len(args):
            raise BadArguments(f"{where}: expected {len(args)} items")
        return tuple(part(item, each, f"{where}[{n}]") for n, (item, each) in enumerate(zip(items, args, strict=True)))
    fitted = [part(item, args[0], f"{where}[{n}]") if args else item for n, item in enumerate(items)]
    return kind(fitted)  # pyright: ignore[reportUnknownVariableType]  one of three classes


def _fields(kind: Any) -> dict[str, Any] | None:
    """The annotations of a dataclass or typed dict, its bases' first; else None."""
    if (fields := getattr(kind, "__dataclass_fields__", None)) is not None:
        return {name: _resolved(field.type, kind) for name, field in fields.items() if field.init}
    if not hasattr(kind, "__required_keys__"):
        return None
    return {name: _bare(_resolved(part, kind), kind) for name, part in kind.__annotations__.items()}


def _required(kind: Any) -> list[str]:
    if (fields := getattr(kind, "__dataclass_fields__", None)) is not None:
        from dataclasses import MISSING  # already imported: the type is one

        found = (f for f in fields.values() if f.init and f.default is MISSING and f.default_factory is MISSING)
        return [field.name for field in found]
    wrappers = {name: _wrapper(_resolved(part, kind)) for name, part in kind.__annotations__.items()}
    return [name for name, word in wrappers.items() if (word == "Required" if word else name in kind.__required_keys__)]


def _resolved(annotation: Any, kind: Any) -> Any:
    """Evaluate an annotation stored as text in the module of its class."""
    text = getattr(annotation, "__forward_arg__", annotation)
    if not isinstance(text, str):
        return annotation
    try:
        return eval(text, vars(sys.modules[kind.__module__]))
    except NameError as error:
        raise TypeError(f"{kind.__name__}: {error}; give the tool a schema=") from error


def _bare(annotation: Any, kind: Any) -> Any:
    """Without an outer ``Required`` or ``NotRequired``."""
    return _resolved(annotation.__args__[0], kind) if _wrapper(annotation) else annotation


def _wrapper(annotation: Any) -> str:
    """The outer one of the two. ``__required_keys__`` is wrong if annotations are stored as text."""
    name = getattr(getattr(annotation, "__origin__", None), "_name", "")
    return name if name in ("Required", "NotRequired") else ""


def _format(kind: Any) -> str:
    names = ((base.__module__.split(".")[0], base.__name__) for base in getattr(kind, "__mro__", ()))
    return next((_TEXTS[name] for name in names if name in _TEXTS), "")

"""Creates a tool from a function: JSON Schema from its annotations, and checked arguments.
Supports ``str``, ``int``, ``float``, ``bool``, ``list[T]``, ``dict``, ``T | None``, ``Literal``, ``Any``,
``Annotated`` and ``composite_types``. It avoids ``inspect`` and ``typing``, which would double the start-up time."""

from __future__ import annotations

from types import FunctionType, MethodType, UnionType

from zot.ext.context import ToolContext

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_KINDS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_VARIADIC = 0x04 | 0x08  # *args, **kwargs


class BadArguments(Exception):
    """The model's arguments do not match the function."""


def tool_of(
    handler: Callable[..., Any], schema: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Callable[[dict[str, Any], ToolContext], Any]]:
    """The schema of a tool, and the conversion of the model's arguments."""
    from zot.ext.results import error_result

    if schema is not None:
        if wants_context(handler):
            return dict(schema), handler
        return dict(schema), lambda args, _context: handler(args)
    parameters = Parameters(handler)

    def call(args: dict[str, Any], context: ToolContext) -> Any:
        try:
            bound = parameters.bind(args, context)
        except BadArguments as error:
            return error_result(f"bad arguments: {error}")
        return handler(**bound)

    return parameters.schema, call


class Parameters:
    """The parameters of a tool function, without the ToolContext."""

    def __init__(self, function: Callable[..., Any], context: type[Any] = ToolContext) -> None:
        plain = _plain(function)
        annotations = _annotations(plain)
        code = plain.__code__
        if code.co_flags & _VARIADIC:
            raise TypeError(f"{plain.__name__}: *args and **kwargs have no schema; give the tool a schema=")
        first = 1 if isinstance(function, MethodType) else 0
        names = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
        values = plain.__defaults__ or ()
        positional = code.co_varnames[: code.co_argcount]
        optional = positional[len(positional) - len(values) :]
        self.defaults = {**dict(zip(optional, values, strict=True)), **(plain.__kwdefaults__ or {})}
        self.context = next((name for name in names if annotations.get(name) is context), "")
        self.kinds = {name: annotations.get(name, str) for name in names if name != self.context}
        properties = {name: schema_of(kind, name) for name, kind in self.kinds.items()}
        for name, value in self.defaults.items():
            if name in properties and value is not None and (plain := _as_json(value)) is not None:
                properties[name]["default"] = plain
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        required = [name for name in properties if name not in self.defaults]
        self.schema = {**schema, "required": required} if required else schema

    def bind(self, args: dict[str, Any], context: Any) -> dict[str, Any]:
        """Keyword arguments for the function; unknown keys are dropped. Raises BadArguments."""
        missing = [name for name in self.kinds if name not in args and name not in self.defaults]
        if missing:
            raise BadArguments(f"missing: {', '.join(missing)}")
        bound = {name: fit(args[name], kind, name) for name, kind in self.kinds.items() if name in args}
        return {**bound, self.context: context} if self.context else bound


def description_of(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((function.__doc__ or "").strip().split("\n\n")[0].split())


def wants_context(function: Callable[..., Any]) -> bool:
    """True if a function that takes a plain dict also takes the ToolContext."""
    count = _plain(function).__code__.co_argcount
    return count - (1 if isinstance(function, MethodType) else 0) > 1


def _plain(function: Callable[..., Any]) -> FunctionType:
    inner = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(inner, FunctionType):
        raise TypeError(f"{function!r} is not a plain function; give the tool a schema=")
    return inner


def _annotations(function: FunctionType) -> dict[str, Any]:
    def resolve(name: str, annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, function.__globals__)
        except NameError as error:
            raise TypeError(f"{function.__name__}({name}): {error}; give the tool a schema=") from error

    return {name: resolve(name, value) for name, value in function.__annotations__.items() if name != "return"}


def _parts(kind: Any) -> tuple[str, Any, tuple[Any, ...]]:
    """Parts of an annotation: its family, bare type and arguments."""
    origin = getattr(kind, "__origin__", None)
    args = getattr(kind, "__args__", ())
    if isinstance(kind, UnionType) or getattr(origin, "_name", "") in ("Union", "Optional"):
        return "union", None, args
    if getattr(origin, "_name", "") == "Literal":
        return "literal", None, args
    if hasattr(kind, "__metadata__"):
        return "annotated", origin, kind.__metadata__
    if getattr(kind, "_name", None) == "Any" or getattr(kind, "__name__", "") == "Any":
        return "any", None, ()
    return "plain", origin or kind, args


def schema_of(kind: Any, name: str) -> dict[str, Any]:
    family, bare, args = _parts(kind)
    match family:
        case "any":
            return {}
        case "annotated":
            words = next((word for word in args if isinstance(word, str)), "")
            return {**schema_of(bare, name), **({"description": words} if words else {})}
        case "literal":
            return {"type": _KINDS[type(args[0])], "enum": list(args)}
        case "union":
            parts = [part for part in args if part is not type(None)]
            if len(parts) == 1:
                return schema_of(parts[0], name)
            return {"anyOf": [schema_of(part, name) for part in parts]}
        case _:
            if bare not in _KINDS:
                from zot.ext import composite_types  # most tools take text and numbers

                if (made := composite_types.schema(bare, args, name, schema_of)) is None:
                    raise TypeError(f"{name}: no JSON Schema for {bare!r}; give the tool a schema=")
                return made
            if bare is list and args:
                return {"type": "array", "items": schema_of(args[0], name)}
            if bare is dict and len(args) == 2:
                return {"type": "object", "additionalProperties": schema_of(args[1], name)}
            return {"type": _KINDS[bare]}


def _as_json(value: Any) -> Any:
    """A default for the model; None if it has no JSON form."""
    if type(value) in _KINDS:
        return value
    from zot.ext import composite_types

    return composite_types.as_json(value)


def fit(value: Any, kind: Any, where: str) -> Any:
    family, bare, args = _parts(kind)
    match family:
        case "any":
            return value
        case "annotated":
            return fit(value, bare, where)
        case "literal":
            if value in args:
                return value
            raise BadArguments(f"{where}: expected one of {', '.join(map(repr, args))}")
        case "union":
            if value is None and type(None) in args:
                return None
            trouble = BadArguments(f"{where}: expected a value")
            for part in args:
                if part is not type(None):
                    try:
                        return fit(value, part, where)
                    except BadArguments as error:
                        trouble = error
            raise trouble
        case _:
            return _fit_plain(value, bare, args, where)


def _fit_plain(value: Any, bare: Any, args: tuple[Any, ...], where: str) -> Any:
    if bare not in _KINDS:
        from zot.ext import composite_types

        return composite_types.fit(value, bare, args, where, fit)
    if bare is dict and len(args) == 2 and isinstance(value, dict):
        return {key: fit(item, args[1], f"{where}.{key}") for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  a JSON object
    if bare is list and args and isinstance(value, list):
        return [fit(item, args[0], f"{where}[{index}]") for index, item in enumerate(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  a JSON array
    if bare is float and type(value) is int:
        return float(value)
    if bare is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not bare:
        raise BadArguments(f"{where}: expected {_KINDS[bare]}, got {_KINDS.get(type(value), 'null')}")
    return value

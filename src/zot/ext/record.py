"""Records: classes whose annotations are the keys of a JSON object.
Defaults are omitted when written, unknown keys are ignored. ``dataclasses`` and ``json`` would import ``inspect``
and ``re``, which take longer than Python's own start."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


def _c_half() -> tuple[Callable[[Any], str], Callable[[bytes], Any]]:
    """``json`` without its Python part: its two functions in C."""
    from _json import encode_basestring, make_encoder, make_scanner

    class Options:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float, parse_int, parse_constant = float, int, float

    def unknown(value: object) -> Any:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    def dumps(value: Any) -> str:
        return "".join(make_encoder({}, unknown, encode_basestring, None, ":", ",", False, False, False)(value, 0))

    options: Any = Options
    scan = make_scanner(options)

    def loads(line: bytes) -> Any:
        text = line.decode("utf-8", "surrogatepass").removeprefix("\ufeff").strip(" \t\r\n")
        try:
            value, end = scan(text, 0)
        except StopIteration as error:
            raise ValueError(f"no JSON value at character {error.value}") from None
        if end != len(text):
            raise ValueError(f"more than one JSON value: character {end}")
        return value

    if loads(dumps({"a": ["b", 1.5, None]}).encode()) != {"a": ["b", 1.5, None]}:
        raise ImportError("_json")
    return dumps, loads


def _whole() -> tuple[Callable[[Any], str], Callable[[bytes], Any]]:
    import json

    def dumps(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    return dumps, json.loads


try:
    dumps, loads = _c_half()
except Exception:  # a Python whose json has no such part
    dumps, loads = _whole()


@dataclass_transform(kw_only_default=True, eq_default=False)
class Record:
    """Base of all records; ``frame_type`` is the ``type`` on the wire, or empty for an object inside a frame."""

    frame_type: ClassVar[str] = ""
    wire_keys: ClassVar[tuple[str, ...]] = ()
    nested: ClassVar[Mapping[str, type[Record]]] = {}

    def __init_subclass__(cls, *, type: str = "", nested: Mapping[str, type[Record]] | None = None) -> None:
        cls.frame_type = type
        cls.wire_keys = (*cls.wire_keys, *cls.__annotations__)
        cls.nested = nested or cls.nested

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            for key in values:
                if key not in self.wire_keys:
                    raise TypeError(f"{type(self).__name__} has no {key!r}")
            self.__dict__.update(values)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """The record of a decoded JSON object; ``null`` counts as absent."""
        record = cls.__new__(cls)
        for key in cls.wire_keys:
            if (value := fields.get(key)) is not None:
                record.__dict__[key] = _read(value, cls.nested[key]) if key in cls.nested else value
        return record

    def fields(self) -> dict[str, Any]:
        """The JSON object: ``type`` first, keys in order, without defaults."""
        cls = type(self)
        made: dict[str, Any] = {"type": cls.frame_type} if cls.frame_type else {}
        for key in cls.wire_keys:
            value = _plain(getattr(self, key))
            if not hasattr(cls, key) or value != _plain(getattr(cls, key)):
                made[key] = value
        return made

    def encode(self) -> bytes:
        """One line with its LF: compact, raw UTF-8, lone surrogates as U+FFFD. ValueError or TypeError if it cannot."""
        text = dumps(self.fields()) + "\n"
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(other) is type(self) and other.fields() == self.fields()

    __hash__ = None  # type: ignore[assignment]  # equal by value and open to change

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({given})"


def _read(value: Any, kind: type[Record]) -> Any:
    if not isinstance(value, list):
        return kind.read(value)
    items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]  a JSON array
    return [kind.read(item) for item in items]


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.fields()
    if isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]  any sequence
        return [_plain(item) for item in items]
    return value

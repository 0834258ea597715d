"""Records: small classes whose annotations are the keys of a JSON object, in order, with defaults as attributes.

A key at its default is left out when written, and filled in when read; keys nobody declared are ignored. This is
what ``dataclasses`` would do at the price of importing ``inspect``, which alone takes longer than Python to start.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # what typing says, without importing it
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, eq_default=False)
class Record:
    """Base of all records; ``frame_type`` is the ``type`` on the wire, or empty for an object inside a frame."""

    frame_type: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()
    nested: ClassVar[Mapping[str, type[Record]]] = {}

    def __init_subclass__(cls, *, type: str = "", nested: Mapping[str, type[Record]] | None = None) -> None:
        cls.frame_type = type
        cls.keys = (*cls.keys, *cls.__annotations__)
        cls.nested = nested or cls.nested

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            for key in values:
                if key not in self.keys:
                    raise TypeError(f"{type(self).__name__} has no {key!r}")
            self.__dict__.update(values)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """The record in a decoded JSON object; ``null`` is the same as absent."""
        record = cls.__new__(cls)
        for key in cls.keys:
            if (value := fields.get(key)) is not None:
                record.__dict__[key] = _read(value, cls.nested[key]) if key in cls.nested else value
        return record

    def fields(self) -> dict[str, Any]:
        """The JSON object: ``type`` first, keys in order, defaults left out."""
        cls = type(self)
        made: dict[str, Any] = {"type": cls.frame_type} if cls.frame_type else {}
        for key in cls.keys:
            value = _plain(getattr(self, key))
            if not hasattr(cls, key) or value != _plain(getattr(cls, key)):
                made[key] = value
        return made

    def encode(self) -> bytes:
        """One line with its LF: compact, raw UTF-8, lone surrogates as U+FFFD. ValueError or TypeError if it cannot."""
        text = json.dumps(self.fields(), ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(other) is type(self) and other.fields() == self.fields()

    __hash__ = None  # pyright: ignore[reportAssignmentType]  equal by value and open to change

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

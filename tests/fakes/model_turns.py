"""Behaviours of the fake model server, one frozen class each. Wrappers nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class SeenRequest(NamedTuple):
    """A request as the server received it; header names are lower case, ``json`` is None when it is not JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    json: Any


@dataclass(frozen=True)
class Say:
    """An answer in words. ``usage`` is (uncached input, output) and means the same in every dialect."""

    text: str = ""
    reasoning: str = ""
    usage: tuple[int, int] = (10, 5)
    cached: int = 0
    written: int = 0  # to the provider's cache; only Anthropic tells
    deltas: tuple[str, ...] | None = None  # instead of one delta for each word of ``text``
    signature: str = "sig"
    id: str = "msg_fake"  # of Anthropic's message; Claude Code joins messages that have the same one


@dataclass(frozen=True)
class CallTools:
    """Tool calls, after ``text`` if there is any. A call is (name, args) or (name, args, id).

    ``args`` given as a string travel as they are, so that broken JSON can be sent.
    """

    calls: Sequence[tuple[str, Any] | tuple[str, Any, str]]
    text: str = ""
    reasoning: str = ""
    signature: str = "sig"
    usage: tuple[int, int] = (10, 5)
    cached: int = 0
    written: int = 0
    id: str = "msg_fake"


@dataclass(frozen=True)
class Refuse:
    """An HTTP error instead of a stream."""

    status: int
    body: str | bytes | dict[str, Any] = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Stop:
    """The turn, ended for another reason: ``length``, ``refusal``, ``content_filter`` or a word of the dialect."""

    turn: Say | CallTools
    reason: str


@dataclass(frozen=True)
class StreamError:
    """An error inside the stream in the dialect's own form, after the content of ``after`` if it is given."""

    kind: str = "overloaded_error"
    message: str = "Overloaded"
    after: Say | CallTools | None = None


@dataclass(frozen=True)
class Raw:
    """Exact bytes; each chunk is its own HTTP chunk."""

    status: int
    headers: dict[str, str]
    chunks: Sequence[bytes]


@dataclass(frozen=True)
class Cut:
    """The connection closes after this many bytes of the body; 0 is right after the headers."""

    turn: Turn
    after_bytes: int = 0


@dataclass(frozen=True)
class CutBeforeHeaders:
    """The connection closes before the answer begins."""


@dataclass(frozen=True)
class Silent:
    """After this many bytes of the body nothing comes any more, until the client closes."""

    turn: Turn
    after_bytes: int = 0


@dataclass(frozen=True)
class Slow:
    """A pause before each event."""

    turn: Turn
    delay_s: float


@dataclass(frozen=True)
class Held:
    """A pause before each event that contains one of these texts: for a time, or until ``server.go_on()``."""

    turn: Turn
    before: tuple[bytes, ...]
    delay_s: float | None = None


Turn = Say | CallTools | Refuse | Stop | StreamError | Raw | Cut | CutBeforeHeaders | Silent | Slow | Held
TurnSource = Turn | Callable[[SeenRequest], Turn]

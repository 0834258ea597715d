"""Why zot did not do what an extension asked for. ``code`` is the code of the protocol, the text is for users."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from typing import Any


class RequestError(Exception):
    """A refused or failed request: ``bad_params``, ``refused``, ``busy``, ``budget``, ``not_found``, ``conflict``,
    ``too_large``, ``failed``, or one of the classes below."""

    code = "failed"

    def __init__(self, message: str, code: str = "", data: Any = None) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.data = data


class NotSupported(RequestError):
    """This zot lacks a feature; ``Extension.has`` tells first."""

    code = "unknown_method"


class Unavailable(RequestError):
    """This mode has no place for it, or no user can be asked."""

    code = "unavailable"


class Denied(RequestError):
    """The manifest's ``uses`` lacks a word, or the user denied it."""

    code = "denied"


class Cancelled(RequestError):
    """The call it belongs to was cancelled."""

    code = "cancelled"


class TimedOut(RequestError, TimeoutError):
    """No answer in time."""

    code = "timeout"


class HostGone(RequestError, ConnectionError):
    """zot shuts down or its process ended."""


_BY_CODE = {kind.code: kind for kind in (NotSupported, Unavailable, Denied, Cancelled, TimedOut)}


def error_of(code: str, message: str, data: Any = None) -> RequestError:
    return _BY_CODE.get(code, RequestError)(message, code, data)

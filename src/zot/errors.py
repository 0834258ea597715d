"""The tree of expected errors.

Failures inside a run are events; these are raised to callers, who should test the class and its fields, not the text::

    ZotError
    ├── UsageError                  wrong flag or argument (names the flag)
    │   └── NotFound                a named thing does not exist (names it and the fix); exit code 2
    ├── ConfigError                 a file or setting is wrong (names file, key and the fix)
    ├── NotLoggedIn                 no credential for a provider (names the variable, the flag and /login)
    │   └── LoginFailed             a login, or refreshing one, did not succeed; .code .transient
    ├── ProviderError               a model call failed; .provider .status .code .body .retryable
    │   ├── AuthFailed              401, 403
    │   ├── RateLimited             429; .retry_after
    │   ├── Overloaded              5xx, 529
    │   ├── ContextTooLong          413, or the provider's words for "prompt too long"
    │   ├── BadRequest              other rejected requests
    │   └── TransportFailed         no answer: connect, TLS, a cut stream, silence
    ├── ToolError                   the model sees it as an error result
    ├── ExtensionError
    │   ├── ExtensionCrashed
    │   ├── ExtensionTimedOut
    │   └── BadFrame
    ├── SessionError
    │   ├── SessionCorrupt
    │   └── SessionLocked
    ├── OutputFailed                stdout cannot be written, for example on a full disk
    ├── AgentBusy                   a second prompt while one is running
    ├── StepLimitReached            --max-steps
    ├── CostLimitReached            --max-cost
    ├── EngineError                 a swarm worker cannot be started, or has ended
    ├── GitError                    git failed in a worktree or merge
    ├── CompactionFailed            the transcript was left unchanged
    │   └── CompactionAborted       the user stopped it
    ├── RuntimeClosed               zot.sdk: used after close
    ├── AnswerMismatch              zot.sdk, zot.client: no answer matched ``returns=``; .answer
    │   └── AnswerAborted           the prompt was aborted
    └── ClientError                 zot.client: the child process; .stderr
        ├── CommandFailed           zot answered success:false
        ├── ProcessExited           it ended, or could not be started
        └── ResponseTimeout         it did not answer in time
"""

from __future__ import annotations

TYPE_CHECKING = False  # imports would slow down `--version` and `--help`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class ZotError(Exception):
    """Root of all expected errors; its text is for the user."""


class UsageError(ZotError):
    """Wrong flag or argument."""


class NotThere(UsageError):
    """A named thing does not exist or cannot be used; the text names it and the fix."""


class ConfigError(ZotError):
    """Wrong file or setting; the text names file, key and fix."""


class NotLoggedIn(ZotError):
    """No credential for the provider."""


class LoginFailed(NotLoggedIn):
    """A login, or refreshing one, failed. ``code`` is the server's word for it (``access_denied``).
    ``transient``: the stored login may still be valid; try again."""

    def __init__(self, text: str, *, code: str = "", transient: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.transient = transient


class ProviderError(ZotError):
    """A model call failed. ``str()`` is ``<provider>: http <status>: <body>`` or ``<provider>: <reason>``."""

    def __init__(
        self,
        text: str,
        *,
        provider: str = "",
        status: int = 0,
        code: str = "",
        body: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(text)
        self.provider = provider
        self.status = status
        self.code = code
        self.body = body
        self.retryable = retryable
        self.retry_after = retry_after


class AuthFailed(ProviderError):
    """The provider rejected the credential."""


class RateLimited(ProviderError):
    """The provider requested a pause; ``retry_after`` is its length in seconds, if known."""


class Overloaded(ProviderError):
    """A failure of the provider."""


class RequestDenied(ZotError):
    """An interceptor denied a model call."""


class ContextTooLong(ProviderError):
    """The prompt does not fit the model's window."""


class BadRequest(ProviderError):
    """The provider rejected the request."""


class TransportFailed(ProviderError):
    """No complete answer arrived: connection, TLS, a cut stream or silence."""


class ToolError(ZotError):
    """A tool failed; the model sees the text as an error result."""


class ExtensionError(ZotError):
    """A fault of an extension."""


class ExtensionCrashed(ExtensionError):
    """The extension's process has ended."""


class ExtensionTimedOut(ExtensionError):
    """The extension did not answer in time."""


class BadFrame(ExtensionError):
    """The extension sent an invalid frame."""


class SessionError(ZotError):
    """A session file cannot be used."""


class SessionCorrupt(SessionError):
    """The file is not a session."""


class SessionLocked(SessionError):
    """Another process writes the session in ``path``."""

    def __init__(self, text: str, path: Path) -> None:
        super().__init__(text)
        self.path = path


class SessionChangeDenied(ZotError):
    """An extension or hook does not allow another session to begin; nothing changed."""


class OutputFailed(ZotError):
    """stdout cannot be written."""


class AgentBusy(ZotError):
    """One prompt runs at a time."""


class StepLimitReached(ZotError):
    """The prompt used up its model calls."""


class CostLimitReached(ZotError):
    """The session has reached its cost limit."""


class EngineFault(ZotError):
    """A swarm worker cannot be started, or has ended unexpectedly."""


class GitFailed(ZotError):
    """git failed in a worktree or merge; the text is one line."""


class CompactionFailed(ZotError):
    """No summary was made; the transcript is unchanged."""


class CompactionAborted(CompactionFailed):
    """The user stopped the compaction."""


class RuntimeClosed(ZotError):
    """The runtime was closed; create another one."""


class AnswerMismatch(ZotError):
    """No answer of the model matched the requested type. ``answer`` is the last one."""

    def __init__(self, text: str, answer: str = "") -> None:
        super().__init__(text)
        self.answer = answer


class AnswerAborted(AnswerMismatch):
    """The prompt was aborted before a matching answer."""


class ClientError(ZotError):
    """``zot rpc``, run as a child process, failed. ``stderr`` is the end of its stderr."""

    def __init__(self, text: str, stderr: str = "") -> None:
        super().__init__(text)
        self.stderr = stderr


class CommandFailed(ClientError):
    """zot answered ``success:false``."""


class ProcessExited(ClientError):
    """The child process ended, or could not be started."""


class ResponseTimeout(ClientError):
    """zot did not answer in time."""


# Second names. Recordings contain the class names of the first three, so those stay.
NotFound, GitError, EngineError = NotThere, GitFailed, EngineFault
ProcessGone, NoAnswer = ProcessExited, ResponseTimeout


_LONGEST_SLIP = 200  # characters; longer text is no typing error


def closest_match(typed: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The known name most similar to ``typed``, for "did you mean"; "" if none is similar."""
    return next(iter(closest(typed, known, count=1, likeness=likeness)), "")


def closest(typed: str, known: Iterable[str], *, count: int, likeness: float = 0.6) -> list[str]:
    """Up to ``count`` known names similar to ``typed``, the most similar first."""
    if len(typed) > _LONGEST_SLIP:
        return []
    from difflib import get_close_matches  # needed only for errors

    return get_close_matches(typed, list(dict.fromkeys(known)), n=count, cutoff=likeness)


def describe_error(error: BaseException) -> str:
    """The error in one line: reason and file of an OSError, without Python's ``[Errno 28]``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__

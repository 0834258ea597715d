"""Every error zot raises on purpose, in one tree.

Expected failures inside a run travel as events; these are raised to callers, who may branch on the class
and on its fields instead of matching text::

    ZotError
    ├── UsageError                  a flag or argument typed wrong (names the flag)
    │   └── NotFound                something named by hand is not there (names it and the fix); exit code 2
    ├── ConfigError                 a file or setting is wrong (names file, key and the fix)
    ├── NotLoggedIn                 no credential for a provider (names the variable, the flag and /login)
    │   └── LoginFailed             a login, or refreshing one, did not succeed; .code .transient
    ├── ProviderError               a model call failed; .provider .status .code .body .retryable
    │   ├── AuthFailed              401, 403
    │   ├── RateLimited             429; .retry_after
    │   ├── Overloaded              5xx, 529
    │   ├── ContextTooLong          413, or the provider's words for "prompt too long"
    │   ├── BadRequest              any other refusal
    │   └── TransportFailed         no answer: connect, TLS, a cut stream, silence
    ├── ToolError                   the model sees it as an error result
    ├── ExtensionError
    │   ├── ExtensionCrashed
    │   ├── ExtensionTimedOut
    │   └── BadFrame
    ├── SessionError
    │   ├── SessionCorrupt
    │   └── SessionLocked
    ├── OutputFailed                stdout cannot be written: a full disk, say
    ├── AgentBusy                   a second prompt while one is running
    ├── StepLimitReached            --max-steps
    ├── CostLimitReached            --max-cost
    ├── EngineError                 a worker of a swarm cannot be started, or is gone
    ├── GitError                    git refused what a worktree or a merge needs
    ├── CompactionFailed            the transcript was left unchanged
    │   └── CompactionAborted       because the user stopped it
    ├── RuntimeClosed               zot.sdk: used after close
    ├── AnswerMismatch              zot.sdk, zot.client: no answer was what ``returns=`` asks for; .answer
    │   └── AnswerAborted           because the prompt was aborted
    └── ClientError                 zot.client: the child process; .stderr
        ├── CommandFailed           zot answered success:false
        ├── ProcessExited           it ended, or never came to life
        └── ResponseTimeout         it did not answer in time
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing anything for it would cost `--version` and `--help` more than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable


class ZotError(Exception):
    """Root of all errors zot raises on purpose; its text is fit to show to a user."""


class UsageError(ZotError):
    """A flag or an argument was typed wrong."""


class NotThere(UsageError):
    """Something named by hand is not there, or cannot be used; the text names it and the fix."""


class ConfigError(ZotError):
    """A file or a setting is wrong; the text names file, key and fix."""


class NotLoggedIn(ZotError):
    """There is no credential for the provider."""


class LoginFailed(NotLoggedIn):
    """A login by OAuth, or refreshing one, did not succeed. ``code`` is the server's word for it (``access_denied``);
    ``transient`` says that the stored login may still be good, and trying again may help."""

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
    """The provider refused the credential."""


class RateLimited(ProviderError):
    """The provider asked for a pause; ``retry_after`` holds its length in seconds when it said one."""


class Overloaded(ProviderError):
    """The provider failed on its side."""


class ContextTooLong(ProviderError):
    """The prompt does not fit the model's window."""


class BadRequest(ProviderError):
    """The provider refused the request itself."""


class TransportFailed(ProviderError):
    """No complete answer arrived: connection, TLS, a cut stream or silence."""


class ToolError(ZotError):
    """A tool could not do its work; the model sees the text as an error result."""


class ExtensionError(ZotError):
    """An extension misbehaved."""


class ExtensionCrashed(ExtensionError):
    """The extension's process is gone."""


class ExtensionTimedOut(ExtensionError):
    """The extension did not answer in time."""


class BadFrame(ExtensionError):
    """The extension sent something that is not a frame."""


class SessionError(ZotError):
    """A session file cannot be used."""


class SessionCorrupt(SessionError):
    """The file is not a session."""


class SessionLocked(SessionError):
    """Another process writes this session."""


class OutputFailed(ZotError):
    """The answer is there, and stdout does not take it."""


class AgentBusy(ZotError):
    """One prompt runs at a time."""


class StepLimitReached(ZotError):
    """The prompt used up its model calls."""


class CostLimitReached(ZotError):
    """The session has spent what it may."""


class EngineFault(ZotError):
    """A worker of a swarm cannot be started where it should run, or is gone from there."""


class GitFailed(ZotError):
    """git refused, or could not do, what a worktree or a merge needs; one line says why."""


class CompactionFailed(ZotError):
    """No summary was made; the transcript is unchanged."""


class CompactionAborted(CompactionFailed):
    """The user stopped the compaction."""


class RuntimeClosed(ZotError):
    """The runtime was closed; make another one."""


class AnswerMismatch(ZotError):
    """The model was asked for a value of a type, several times, and no answer fitted. ``answer`` is its last one."""

    def __init__(self, text: str, answer: str = "") -> None:
        super().__init__(text)
        self.answer = answer


class AnswerAborted(AnswerMismatch):
    """The prompt was aborted before there was an answer that fits."""


class ClientError(ZotError):
    """``zot rpc``, driven as a child process, could not do what was asked. ``stderr`` is what it last said there."""

    def __init__(self, text: str, stderr: str = "") -> None:
        super().__init__(text)
        self.stderr = stderr


class CommandFailed(ClientError):
    """zot answered ``success:false``."""


class ProcessExited(ClientError):
    """The child process ended, or never came to life."""


class ResponseTimeout(ClientError):
    """zot did not answer in time."""


# Other names of these classes: recordings contain the class names of the first three.
NotFound, GitError, EngineError = NotThere, GitFailed, EngineFault
ProcessGone, NoAnswer = ProcessExited, ResponseTimeout


_LONGEST_SLIP = 200  # characters; nobody mistypes more


def closest_match(typed: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """The name somebody meant who typed another one, for errors that say "did you mean"; "" when none is alike."""
    return next(iter(closest(typed, known, count=1, likeness=likeness)), "")


def closest(typed: str, known: Iterable[str], *, count: int, likeness: float = 0.6) -> list[str]:
    """Up to ``count`` names that somebody may have meant, the likeliest first."""
    if len(typed) > _LONGEST_SLIP:
        return []
    from difflib import get_close_matches  # only for what is wrong anyway

    return get_close_matches(typed, list(dict.fromkeys(known)), n=count, cutoff=likeness)


def describe_error(error: BaseException) -> str:
    """What went wrong, for a person: the reason and the file of an OSError, without Python's ``[Errno 28]``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__

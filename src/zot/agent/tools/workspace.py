"""Paths and child processes of the tools: all go through this module.
Children inherit zot's environment without credentials and variables that look secret, plus those that name the
agent."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Collection, Generator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from zot.errors import ToolError
from zot.system.safe_open import TooLarge, open_directory, open_regular, read_at_most, read_whole

if TYPE_CHECKING:
    from zot.agent.snapshot import ConversationSnapshot
    from zot.agent.tools.background_jobs import Jobs
    from zot.agent.tools.registry import ToolDefinition
    from zot.system.jail.jail import Jail
    from zot.system.jail.jailed_files import JailedFiles
    from zot.system.processes import ProcessTree

_NO_INPUT = -3  # subprocess.DEVNULL, whose module is slow to import

# Secrets of zot itself; those of providers are passed to the Workspace.
OWN_SECRETS = frozenset({"ZOTCORE_RPC_TOKEN", "TELEGRAM_BOT_TOKEN", "ZOT_TELEGRAM_TOKEN"})

# Always set by zot: a value inherited from an outer zot must not replace an absent one.
SESSION_VARIABLES = frozenset(
    {"ZOT_SESSION_ID", "ZOT_SESSION_FILE", "ZOT_PROVIDER", "ZOT_MODEL", "ZOT_REASONING_LEVEL"}
)


class JailedToolError(ToolError):
    """The jail denied access. ``path`` is the file to open; empty if the user is not to be asked."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.path = path


class ChangeRecorder(Protocol):
    """Receives file changes before and after tools make them; ``features/checkpoints`` implements it."""

    def before_write(self, path: Path, data: bytes, by: str, before: bytes | None = None) -> Any: ...

    def cancel_write(self, change: Any) -> None: ...

    def after_write(self, change: Any) -> None: ...

    async def before_command(self) -> None: ...

    async def after_command(self, by: str) -> None: ...


class FileHost(Protocol):
    """Has files that are open elsewhere, such as in an editor."""

    async def read(self, path: Path) -> bytes | None: ...

    async def write(self, path: Path, data: bytes) -> None: ...


class Workspace:
    """``credentials`` are variables that children must not see, besides those with secret-looking names.
    ``passthrough`` are the user's exceptions, ``present`` the current values of SESSION_VARIABLES. ``recorder`` has
    the observer of file changes, if any. ``jobs`` are background commands; they end with the agent. ``jail``, if
    any, applies to children and to tools that open files. ``notify`` shows a line to the user."""

    def __init__(
        self,
        cwd: Path,
        *,
        credentials: Collection[str] = (),
        passthrough: Collection[str] = (),
    ) -> None:
        self.cwd = Path(os.path.abspath(cwd))
        self.present: Callable[[], ConversationSnapshot] | None = None
        self.recorder: Callable[[], ChangeRecorder | None] = lambda: None
        self._jobs: Jobs | None = None
        self.job_started: Callable[[], bool] = lambda: False  # true if the model has a tool for jobs now
        self.jail: Jail | None = None
        self.added_dirs: tuple[str, ...] = ()  # real paths that the user added: tools may use them like the project
        self.notify: Callable[[str], None] = lambda text: None
        self.file_host: FileHost | None = None  # reads and writes text files instead
        self.added: dict[str, str] = {}  # variables from SessionStart hooks, for commands
        self._credentials = OWN_SECRETS | frozenset(credentials)
        self._passthrough = frozenset(passthrough)
        self._sorted: tuple[dict[bytes, bytes], dict[str, str], list[str]] = ({}, {}, [])

    @property
    def jobs(self) -> Jobs:
        if self._jobs is None:
            from zot.agent.tools.background_jobs import Jobs  # few runs leave processes

            self._jobs = Jobs()
        return self._jobs

    @property
    def had_jobs(self) -> bool:
        return self._jobs is not None and self._jobs.started > 0

    async def stop_jobs(self, grace: float) -> None:
        """Stop all background commands."""
        if self._jobs is not None:
            await self._jobs.stop_all(grace)

    @property
    def running_jobs(self) -> int:
        """Their number, with one system call each; read for every frame."""
        return self._jobs.running if self._jobs is not None else 0

    def within(self, jail: Jail) -> Workspace:
        """The same in another jail, for one call; background commands are shared."""
        other = copy(self)
        other._jobs, other.jail = self.jobs, jail
        return other

    def resolve(self, path: str) -> Path:
        """The absolute path of a model's text: relative to the session's directory, ``~`` expanded."""
        if not path.strip():
            raise ToolError("'path' is required and must not be blank")
        try:
            os.fsencode(path)
        except UnicodeError as error:
            raise ToolError(f"not a path: {path!r}") from error
        if "\0" in path:
            raise ToolError(f"not a path: {path!r}")
        expanded = os.path.expanduser(path) if path.startswith("~") else path
        return Path(os.path.normpath(os.path.join(self.cwd, expanded)))

    def display_path(self, path: Path) -> str:
        """The path for a model: relative if inside the session's directory."""
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)

    def withhold(self, variable: str) -> None:
        """Treat a variable as a credential that no child gets."""
        self._credentials |= {variable}
        self._sorted = ({}, {}, [])

    def removed_credentials(self) -> list[str]:
        """Names of set variables that no child gets."""
        return sorted(self._sorted_out()[1])

    def hidden_variables(self) -> list[str]:
        """Names of set variables that the last command did not get: in a jail, all that are not allowed."""
        if self.jail is None:
            return self._sorted_out()[1]
        given = self.child_environment()
        return [name for name, value in os.environ.items() if value and name not in given]

    def _sorted_out(self) -> tuple[dict[str, str], list[str]]:
        """zot's environment for children, and the names of withheld variables.
        Needed for every command and rarely changed, so it is cached."""
        present: dict[bytes, bytes] | None = getattr(os.environ, "_data", None)
        seen, given, kept = self._sorted
        if not present or present != seen:
            given = {name: value for name, value in os.environ.items() if not self._is_withheld(name)}
            kept = [name for name, value in os.environ.items() if value and name not in given]
            self._sorted = (dict(present or {}), given, kept)
        return given.copy(), kept

    def _is_withheld(self, variable: str) -> bool:
        """True for a known credential, or a variable that looks like another service's secret, unless the user allowed
        it.
        A credential must be allowed by name, a secret by name or pattern."""
        from zot.system.secret_variables import looks_like_secret, matches_any

        if variable in self._credentials:
            return variable not in self._passthrough
        return looks_like_secret(variable) and not matches_any(variable, self._passthrough)

    def child_environment(self) -> dict[str, str]:
        """The environment of a tool's command, limited in a jail."""
        if self.jail is None:
            return self.free_environment()
        from zot.system.jail.policy import jailed_environment

        return jailed_environment(self.free_environment(), self._passthrough)

    def free_environment(self) -> dict[str, str]:
        """The environment of the user's own program (an editor, the clipboard), outside the jail."""
        environment, _ = self._sorted_out()
        for name in SESSION_VARIABLES:
            environment.pop(name, None)
        environment.update(self.added)
        environment.update(self._session_variables())
        environment.update(AI_AGENT="zot", ZOT_AGENT="1", ZOT_CHILD_SESSION="1", PWD=str(self.cwd))
        return environment

    def granted(self, names: Collection[str]) -> dict[str, str]:
        """Variables granted to an extension by name: also other services' secrets, but no known credential.
        Those need the user's settings."""
        kept = self._credentials - self._passthrough
        return {name: os.environ[name] for name in names if name in os.environ and name not in kept}

    def _session_variables(self) -> dict[str, str]:
        if self.present is None:
            return {}
        present = self.present()
        values = {
            "ZOT_PROVIDER": present.provider,
            "ZOT_MODEL": present.model,
            "ZOT_REASONING_LEVEL": present.reasoning,
        }
        if present.session_file:
            values |= {"ZOT_SESSION_ID": present.session_id, "ZOT_SESSION_FILE": present.session_file}
        return {name: value for name, value in values.items() if value}

    def start(self, argv: list[str], cwd: Path, failure: str) -> tuple[ProcessTree, int]:
        """A child, and the descriptor of its stdout and stderr; ToolError begins with ``failure``."""
        return self._start(argv, cwd, failure)

    def start_with_input(self, argv: list[str], cwd: Path, failure: str) -> tuple[ProcessTree, int, int]:
        """The same with a pipe for its input, whose writing end is the last value."""
        stdin, feeding = os.pipe()
        try:
            os.set_blocking(feeding, False)
            return *self._start(argv, cwd, failure, stdin, is_free=False), feeding
        except BaseException:
            os.close(feeding)
            raise
        finally:
            os.close(stdin)

    def ask(self, argv: list[str], given: bytes, failure: str) -> tuple[ProcessTree, int]:
        """The same for the user's own program with input; only its stdout is read, outside the jail."""
        stdin, feeding = os.pipe()
        try:
            os.set_blocking(feeding, False)  # do not wait to write more than the pipe can contain
            with contextlib.suppress(BlockingIOError):
                os.write(feeding, given)
            os.close(feeding)
            return self._start(argv, self.cwd, failure, stdin, is_free=True)
        finally:
            os.close(stdin)

    def _start(
        self, argv: list[str], cwd: Path, failure: str, stdin: int | None = None, *, is_free: bool = False
    ) -> tuple[ProcessTree, int]:
        from zot.system.processes import spawn  # only tools that start a process need it

        read_end, write_end = os.pipe()
        try:
            given = _NO_INPUT if stdin is None else stdin
            if is_free:
                tree = spawn(argv, cwd=cwd, env=self.free_environment(), stdin=given, stdout=write_end)
            else:
                env = self.child_environment()
                tree = spawn(argv, cwd=cwd, env=env, stdout=write_end, stderr=write_end, jail=self.jail, stdin=given)
        except (OSError, ValueError) as error:
            os.close(read_end)
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            raise ToolError(f"{failure}: {reason}") from error
        finally:
            os.close(write_end)
        return tree, read_end

    # --- files, below the jail's roots if there is one

    def open_regular(self, path: Path) -> int:
        """A descriptor for reading."""
        if self.jail is None:
            return open_regular(path)
        with self._jailed(path):
            return self.jail.files.open(path)

    def open_directory(self, path: Path) -> int:
        """A descriptor for listing."""
        if self.jail is None:
            return open_directory(os.path.realpath(path))
        with self._jailed(path):
            return self.jail.files.open_directory(path)

    @property
    def jailed_files(self) -> JailedFiles | None:
        """Where project files are opened in a jail; None without one."""
        return self.jail.files if self.jail is not None else None

    def read_whole(self, path: Path, limit: int) -> bytes:
        if self.jail is None:
            return read_whole(path, limit)
        with os.fdopen(self.open_regular(path), "rb") as file:
            data = read_at_most(file, limit + 1)
        if len(data) > limit:
            raise TooLarge(path, limit)
        return data

    def replace(self, path: Path, data: bytes) -> bool:
        """Write a file and create its directories; True if it is new."""
        from zot.system.files import replace_file

        if self.jail is None:
            os.makedirs(path.parent, mode=0o755, exist_ok=True)
            return replace_file(path, data)
        with self._jailed(path), self.jail.files.writable_path(path, make=True) as place:
            return replace_file(place, data, follow=False)

    async def load(self, path: Path, limit: int) -> bytes:
        """The whole file, as an editor has it if one is connected; same errors as ``read_whole``."""
        data = self.read_whole(path, limit)
        newer = await self.unsaved(path)
        return data if newer is None else newer

    async def unsaved(self, path: Path) -> bytes | None:
        """What a connected editor has; None without one, or if it does not know the file."""
        return await self.file_host.read(path) if self.file_host is not None else None

    async def store(self, path: Path, data: bytes) -> bool:
        """Write a file, through a connected editor if it is text; True if it is new."""
        if self.file_host is None or not _is_text(data):
            return self.replace(path, data)
        created = not path.exists()
        if self.jail is not None:
            with self._jailed(path), self.jail.files.writable_path(path, make=True):
                pass  # it may be written
        await self.file_host.write(path, data)
        return created

    def check_place(self, path: Path) -> None:
        """ToolError if a search may not begin there."""
        if self.jail is not None:
            with self._jailed(path):
                self.jail.files.check(path)

    @contextmanager
    def _jailed(self, path: Path) -> Generator[None]:
        from zot.system.jail.jailed_files import JailDenied, Protected

        try:
            yield
        except JailDenied as error:
            shown = "" if isinstance(error, Protected) else str(path)
            raise JailedToolError(f"jailed: {path} {error.strerror}", shown) from error

    # --- changes

    @contextmanager
    def record_write(self, path: Path, data: bytes, by: str, before: bytes | None = None) -> Generator[None]:
        """Save ``path`` before the block writes ``data``; a block that raises changed nothing.
        ``before`` is its content if the tool has read it."""
        recorder = self.recorder()
        change = recorder.before_write(path, data, by, before) if recorder is not None else None
        try:
            yield
        except BaseException:
            if recorder is not None and change is not None:
                recorder.cancel_write(change)
            raise
        if recorder is not None and change is not None:
            recorder.after_write(change)

    @asynccontextmanager
    async def record_command(self, by: str) -> AsyncGenerator[None]:
        """Record the block's changes in the project by comparing before and after."""
        recorder = self.recorder()
        if recorder is None:
            yield
            return
        await recorder.before_command()
        try:
            yield
        finally:
            await recorder.after_command(by)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class WorkspaceTool:
    """Base of the built-in tools: a ``core.tool.Tool`` without ``execute``."""

    name: ClassVar[str]
    spec: ToolDefinition

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return self.spec.description

    @property
    def schema(self) -> dict[str, Any]:
        return self.spec.schema

    @property
    def read_only(self) -> bool:
        return self.spec.read_only

    @contextmanager
    def _reading(self, path: Path) -> Generator[None]:
        """Convert file errors of the block to ToolError."""
        try:
            yield
        except TooLarge:
            raise
        except OSError as error:
            raise ToolError(f"{self.name}: {self._workspace.display_path(path)}: {reason_of(error)}") from error


def reason_of(error: OSError) -> str:
    """The reason without number and path: ``no such file or directory``."""
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]

"""Commands started inside a policy, and what this machine can hold of it: *full*, *reduced*, or nothing and why.

Everything is started from one thread that belongs to the jail. Landlock and seccomp bind a thread and what it starts,
so the rest of zot stays free; and a child that is to die with its parent dies with the thread that made it, so the
thread lives as long as the jail.
"""

from __future__ import annotations

import atexit
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

import msgspec

from zot.errors import ConfigError
from zot.system.jail import kernel, landlock, seccomp
from zot.system.jail.beneath import Beneath
from zot.system.jail.bubblewrap import arguments
from zot.system.jail.places import held
from zot.system.jail.policy import Limits, Policy
from zot.system.jail.private import Private
from zot.system.jail.system_paths import SYSTEM, etc_directories, etc_files, toolchains
from zot.system.temporary import scratch_directory

Level = Literal["full", "reduced"]
_PROBE_S = 10.0
HOW_TO_GET_IT = "install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package `bubblewrap`)"


class Machine(msgspec.Struct, frozen=True):
    """What can be had here. ``level`` is empty when nothing can; ``why`` says what is missing for more."""

    level: Level | Literal[""]
    why: str = ""
    bubblewrap: str = ""
    landlock: int = 0


def look(find: Callable[[str], str | None]) -> Machine:
    """Try it out: what is installed does not always work."""
    if sys.platform != "linux":
        return Machine("", "zot has no jail for this system yet")
    if not seccomp.supported():
        return Machine("", "zot knows no system calls of this processor")
    abi = kernel.landlock_abi()
    program = find("bwrap")
    reason = _trouble_with(program) if program else f"bubblewrap is not installed; {HOW_TO_GET_IT}"
    if not reason and program:
        return Machine("full", "", program, abi)
    if abi >= landlock.OLDEST_ABI:
        return Machine("reduced", reason, "", abi)
    return Machine("", f"{reason}; and this kernel offers no Landlock (version 3 or newer)", "", abi)


def _trouble_with(program: str) -> str:
    """Why bubblewrap cannot do here what it is for; empty when it can."""
    test = [
        program,
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
    ]
    try:
        done = subprocess.run(
            [*test, "--dev", "/dev", "true"], capture_output=True, timeout=_PROBE_S, stdin=subprocess.DEVNULL, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not run: {error}"
    words = done.stderr.decode(errors="replace").strip().split("\n")[-1]
    return "" if done.returncode == 0 else f"{program} does not work here: {words or f'exit code {done.returncode}'}"


class Jail:
    """``close`` it at the end: that removes its private directories."""

    def __init__(self, policy: Policy, machine: Machine, home: str = "") -> None:
        if not machine.level:
            raise ConfigError(f"jail: this machine cannot hold one: {machine.why}")
        self.policy = policy
        self.level: Level = machine.level
        self.home = os.path.realpath(home or os.path.expanduser("~"))
        self._machine = machine
        self._files: Beneath | None = None
        self._stack = ExitStack()
        self._private = Private(str(self._stack.enter_context(scratch_directory("jail"))), self.home)
        self._filter = seccomp.program(sockets=seccomp.families(full=self.level == "full", network=policy.network))
        self._thread = ThreadPoolExecutor(1, "zot-jail", initializer=self._bind_thread)
        atexit.register(self.close)

    @property
    def files(self) -> Beneath:
        """For tools that open files in zot's own process."""
        if self._files is None:
            self._files = Beneath(self.policy)
        return self._files

    def close(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None
        atexit.unregister(self.close)
        self._thread.shutdown()
        self._stack.close()

    def _bind_thread(self) -> None:
        """Once, in the thread. What follows is started with these restrictions."""
        kernel.no_new_privileges()
        if self.level == "reduced":
            system = (*SYSTEM, *etc_files(), *etc_directories(), *landlock.MACHINE)
            readable = (*system, *toolchains(os.environ.get("PATH", ""), self.home))
            private = (self._private.home, self._private.tmp)
            _restrict(landlock.ruleset(self.policy, readable, private))
            kernel.filter_thread(self._filter)
        elif (ruleset := landlock.scopes_only()) is not None:
            _restrict(ruleset)

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        """As ``subprocess.Popen`` in a session of its own; see ``zot.system.processes.Jailer``."""
        begin = self._start_full if self.level == "full" else self._start_reduced
        return self._thread.submit(begin, argv, str(cwd), env, (stdin, stdout, stderr)).result()

    def left_behind(self) -> str:
        """Sweep the projects for the empty directories that held missing names."""
        if self.level != "full":
            return ""
        words = [sys.executable, "-I", "-m", "zot.system.jail.sweeping", *self.policy.writable]
        return shlex.join(words) if not any("\n" in word for word in words) else ""

    def _start_reduced(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: _Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        own = {**env, "HOME": self._private.home, "TMPDIR": self._private.tmp}
        child = _popen(argv, cwd, own, streams)
        _limit(child.pid, self.policy.limits)
        return child, Cell()

    def _start_full(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: _Streams
    ) -> tuple[subprocess.Popen[bytes], Cell]:
        own = {**env, "HOME": self.home}
        own.pop("TMPDIR", None)
        with ExitStack() as files, ExitStack() as kept:
            covers = kept.enter_context(held(self.policy))
            told, telling = os.pipe()
            kept.callback(os.close, told)
            files.callback(os.close, telling)
            options = arguments(self.policy, covers, self._private, own, cwd, self.home)
            filter = _readable(self._filter, files)
            options += ["--seccomp", str(filter), "--json-status-fd", str(telling)]
            listed = _readable(b"".join(os.fsencode(word) + b"\0" for word in options), files)
            command = [self._machine.bubblewrap, "--args", str(listed), "--", *_limited(self.policy.limits), *argv]
            child = _popen(command, "/", own, streams, (filter, listed, telling))
            return child, Cell(kept.pop_all(), told)
        raise AssertionError("unreachable")


class Cell:
    """What one command holds: the protected names, and the pipe on which bubblewrap tells that it began."""

    def __init__(self, kept: ExitStack | None = None, told: int = -1) -> None:
        self._kept = kept
        self._told = told
        self._began: bool | None = None if kept is not None else True

    def began(self) -> bool:
        """Once the command is over: whether there was one."""
        if self._began is None:
            os.set_blocking(self._told, False)
            with suppress(BlockingIOError):
                self._began = b"child-pid" in os.read(self._told, 4096)
        return bool(self._began)

    def release(self) -> None:
        if self._kept is not None:
            self.began()
            kept, self._kept = self._kept, None
            kept.close()


_Streams = tuple[int, int, int]


def _popen(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: _Streams, fds: tuple[int, ...] = ()
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = streams
    return subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True, pass_fds=fds
    )


def _memory(limits: Limits) -> int:
    return limits.memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _limited(limits: Limits) -> list[str]:
    """A shell that sets limits and becomes the command: inside, because bubblewrap forks before anybody could."""
    processes = f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"  # dash calls it so
    script = f'ulimit -c 0; {processes}; ulimit -d {_memory(limits) // 1024}; exec "$@"'
    return ["/bin/sh", "-c", script, "sh"]


def _limit(pid: int, limits: Limits) -> None:
    """From outside, a moment after the start: what the command starts inherits it."""
    wanted = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NPROC, limits.processes))
    for kind, value in (*wanted, (resource.RLIMIT_DATA, _memory(limits))):
        with suppress(OSError, ValueError):  # it is over already, or the limit is lower by now
            resource.prlimit(pid, kind, (value, value))


def _restrict(ruleset: int) -> None:
    """This thread; the rules are the kernel's from then on, and their descriptor is of no more use."""
    try:
        kernel.restrict_thread(ruleset)
    finally:
        os.close(ruleset)


def _readable(content: bytes, files: ExitStack) -> int:
    """A file that has no name, at its beginning."""
    fd = os.memfd_create("jail", os.MFD_CLOEXEC)
    files.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd

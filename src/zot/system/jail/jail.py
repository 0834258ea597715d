"""A policy and the level this machine can enforce: *full*, *reduced*, or none with the reason. ``launcher`` is
imported for the first command."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from zot.errors import ConfigError
from zot.system.jail.policy import Policy

if TYPE_CHECKING:
    import subprocess

    from zot.system.jail.jailed_files import JailedFiles
    from zot.system.jail.launcher import JailLauncher, JailLease

Level = Literal["full", "reduced"]
_PROBE_S = 10.0
HOW_TO_GET_IT = "install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package `bubblewrap`)"


class JailSupport(msgspec.Struct, frozen=True):
    """What this machine supports. ``level`` is empty if nothing; ``why`` names what is missing for more."""

    level: Level | Literal[""]
    why: str = ""
    bubblewrap: str = ""
    landlock: int = 0


def detect_support(find: Callable[[str], str | None]) -> JailSupport:
    """Test it: installed programs do not always work."""
    if sys.platform == "darwin":
        from zot.system.jail import seatbelt

        reason = seatbelt.trouble(os.environ)
        return JailSupport("", reason) if reason else JailSupport("reduced", seatbelt.UNTESTED)
    if sys.platform != "linux":
        return JailSupport("", "this system has no sandbox that zot supports; on Windows run zot in WSL 2")
    from zot.system.jail import landlock, seccomp, syscalls

    if not seccomp.supported():
        return JailSupport("", "zot has no system call list for this processor")
    abi = syscalls.landlock_abi()
    program = find("bwrap")
    reason = _trouble_with(program) if program else f"bubblewrap is not installed; {HOW_TO_GET_IT}"
    if not reason and program:
        return JailSupport("full", "", program, abi)
    if abi >= landlock.OLDEST_ABI:
        return JailSupport("reduced", reason, "", abi)
    return JailSupport("", f"{reason}; and this kernel has no Landlock (version 3 or newer)", "", abi)


def _trouble_with(program: str) -> str:
    """Why bubblewrap cannot be used here; empty if it can."""
    import subprocess

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
    """``close`` removes its private directories.
    ``within`` is the narrower jail it comes from, whose home and temporary directory it shares."""

    def __init__(self, policy: Policy, machine: JailSupport, home: str = "", within: Jail | None = None) -> None:
        if not machine.level:
            raise ConfigError(f"jail: not available on this machine: {machine.why}")
        self.policy = policy
        self.level: Level = machine.level
        self.home = os.path.realpath(home or os.path.expanduser("~"))
        self._machine = machine
        self._files: JailedFiles | None = None
        self._starter: JailLauncher | None = None
        self._first: Jail = within._first if within is not None else self
        self._wider: list[Jail] = []

    @property
    def label(self) -> str:
        """Its label: ``jailed (full)``, ``jailed (reduced, network)``."""
        return f"jailed ({self.level}{', network' * self.policy.network})"

    def with_access(self, policy: Policy) -> Jail:
        """Another jail for the same project; processes in this one continue."""
        made = Jail(policy, self._machine, self.home, self)
        self._first._wider.append(made)
        return made

    def remove_mount_points(self, paths: Iterable[str]) -> None:
        """Remove mount points of paths that were allowed for one command in private home and ``/tmp``."""
        if self._first._starter is not None:
            self._first._starter.private.tidy(paths, self.home)

    @property
    def own_directory(self) -> str:
        """Its home and temporary directory, seen from outside; empty before the first command."""
        starter = self._first._starter
        return os.path.dirname(starter.private.home) if starter is not None else ""

    @property
    def files(self) -> JailedFiles:
        if self._files is None:
            from zot.system.jail.jailed_files import JailedFiles

            self._files = JailedFiles(self.policy)
        return self._files

    def close(self) -> None:
        """Also close all derived jails and the one it was derived from."""
        first = self._first
        atexit.unregister(first.close)
        while first._wider:
            first._wider.pop()._end()
        first._end()

    def _end(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None
        if self._starter is not None:
            self._starter.close()
            self._starter = None

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> tuple[subprocess.Popen[bytes], JailLease]:
        """As ``subprocess.Popen`` in its own session; see ``zot.system.processes.SandboxLauncher``."""
        return self._made_starter().start(argv, str(cwd), env, (stdin, stdout, stderr))

    def _made_starter(self) -> JailLauncher:
        if self._starter is None:
            from zot.system.jail.launcher import JailLauncher

            private = self._first._made_starter().private if self._first is not self else None
            bubblewrap = self._machine.bubblewrap if self.level == "full" else ""
            self._starter = JailLauncher(self.policy, bubblewrap, self.home, private)
            if self._first is self:
                atexit.register(self.close)
        return self._starter

    def cleanup_command(self) -> str:
        """Remove the empty directories that stood for missing names."""
        if self.level != "full" or not self.policy.protected_roots:
            return ""
        import shlex

        words = [sys.executable, "-I", "-m", "zot.system.jail.cleanup", *self.policy.protected_roots]
        return shlex.join(words) if not any("\n" in word for word in words) else ""

"""The policy as a macOS sandbox profile: deny by default; later rules win.
Untested on a Mac, so ``trouble`` must first prove that the machine enforces it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import PurePosixPath

from zot.errors import ConfigError
from zot.system.jail.policy import GIT_PROTECTED, Policy

PROGRAM = "/usr/bin/sandbox-exec"
UNTESTED = "macOS's sandbox, with a profile that was not tested against escapes"
_PROBE_S = 10.0
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks"),
    *("/private/var/db/timezone", "/private/var/db/dyld", "/private/etc/ssl", "/nix/store"),
    *("/Applications/Xcode.app/Contents/Developer", "/private/var/select"),
)
_FILES = (
    *("passwd", "group", "hosts", "localtime", "protocols", "services", "shells", "profile", "bashrc", "zshrc"),
    *("paths", "resolv.conf", "gitconfig"),
)
_PROGRAMS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin")
_SHELLS = ("/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh")  # the first is one of the others
_DEVICES = ("null", "zero", "random", "urandom", "dtracehelper")
# The user's identity, and with a network names, proxies and certificates.
_SERVICES = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership")
_OF_NETWORK = (
    *("com.apple.SystemConfiguration.configd", "com.apple.SystemConfiguration.DNSConfiguration"),
    *("com.apple.trustd", "com.apple.trustd.agent", "com.apple.networkd", "com.apple.dnssd.service"),
)


def profile(policy: Policy, readable: Iterable[str], private: Iterable[str]) -> str:
    """``readable`` are the toolchains, ``private`` this jail's directories."""
    read = [*_SYSTEM, *readable, *policy.read]
    write = [*policy.writable, *private]
    rules = ["(version 1)", "(deny default)", "(allow process-fork)", "(allow sysctl-read)", "(allow ipc-posix-sem)"]
    rules += ["(allow signal (target same-sandbox))", "(allow process-info* (target same-sandbox))"]
    rules.append(_rule("allow mach-lookup", _named("global-name", _SERVICES)))
    # every directory above them, for traversal
    rules.append(
        _rule(
            "allow file-read-metadata",
            _named(
                "literal",
                sorted({str(above) for path in [*read, *write] for above in PurePosixPath(path).parents} | {"/"}),
            ),
        )
    )
    rules.append(_rule("allow file-read*", _named("literal", ("/", *(f"/private/etc/{name}" for name in _FILES)))))
    rules.append(_rule("allow file-read* file-write-data", _named("literal", (f"/dev/{name}" for name in _DEVICES))))
    rules.append(_rule("allow file-read* process-exec file-map-executable", _named("subpath", [*read, *write])))
    rules.append(_rule("allow file-write*", _named("subpath", write)))
    rules.append(
        _rule("allow network-bind network-inbound network-outbound", _named("subpath", write))
    )  # their sockets
    if policy.network:
        rules += ["(allow network*)", "(allow system-socket)"]
        rules.append(_rule("allow mach-lookup", _named("global-name", _OF_NETWORK)))
    rules.append(_rule("deny file-write*", _named("literal", policy.writable)))  # the names of the roots
    rules.append(_rule("deny file-write*", _named("subpath", (*_protected(policy), *policy.kept))))
    if policy.programs is not None:
        allowed = [path for program in (*_SHELLS, *policy.programs) for path in (program, os.path.realpath(program))]
        rules.append(_rule("deny process-exec", _named("subpath", _PROGRAMS)))
        rules.append(_rule("allow process-exec", _named("literal", allowed)))
    rules.append(_rule("deny file-write*", _named("literal", (f"{root}/.git" for root in _repositories(policy)))))
    return "".join(f"{rule}\n" for rule in rules if rule)


def command(text: str) -> list[str]:
    return [PROGRAM, "-p", text]


def _protected(policy: Policy) -> list[str]:
    names = [f"{root}/{name}" for root in policy.protected_roots for name in policy.protected]
    return names + [f"{root}/.git/{name}" for root in _repositories(policy) for name in GIT_PROTECTED]


def _repositories(policy: Policy) -> list[str]:
    """An existing path; a missing one may be created by a command."""
    return [root for root in policy.protected_roots if os.path.lexists(f"{root}/.git")]


def _named(filter: str, values: Iterable[str]) -> list[str]:
    return [f"({filter} {_quoted(value)})" for value in dict.fromkeys(values)]


def _quoted(text: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ConfigError(f"jail: {text!r} cannot be named in a macOS sandbox profile")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rule(what: str, filters: list[str]) -> str:
    return f"({what} {' '.join(filters)})" if filters else ""


def trouble(environment: Mapping[str, str]) -> str:
    """Why it cannot be used here; empty if a test wrote inside and neither read nor wrote outside."""
    with tempfile.TemporaryDirectory(prefix="zot-probe-") as made:
        base = os.path.realpath(made)
        for name in ("in", "out"):
            os.mkdir(f"{base}/{name}")
        with suppress(FileExistsError):
            os.symlink("x", f"{base}/out/secret")
        script = f"ls {base}/out && exit 3; : >{base}/out/made && exit 4; : >{base}/in/made || exit 5; exit 0"
        words = [*command(profile(Policy(root=f"{base}/in"), (), ())), "/bin/sh", "-c", script]
        try:
            done = subprocess.run(
                words, capture_output=True, timeout=_PROBE_S, stdin=subprocess.DEVNULL, env=environment
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{PROGRAM} does not run: {error}"
        reasons = {3: "it does not prevent reading outside", 4: "it does not prevent writing outside"}
        reason = reasons.get(done.returncode, f"a command cannot work in it (exit code {done.returncode})")
        return "" if done.returncode == 0 else f"{PROGRAM} does not work here: {reason}"

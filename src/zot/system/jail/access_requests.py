"""Finds the outside paths and hosts that a jailed command needed, and the policy that adds exactly those.
Output of a command is untrusted, so each must exist, be accessible to the user and be missing in the policy; zot's
own files, startup files and whole homes are never offered. The user decides."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Literal

import msgspec

from zot.system.auto_run_files import auto_executed_part
from zot.system.jail.policy import AccessRequest, Policy
from zot.system.jail.system_paths import SYSTEM, beneath_any, etc_directories, etc_files, toolchains
from zot.system.safe_open import read_whole

MOST = 4  # requests of one call; users would not read more
_LINES, _LONGEST, _MOST_NAMED = 400, 1_000, 64
_NOT_FILES = ("/proc", "/sys", "/dev")
_NEVER_WRITTEN = (*SYSTEM, "/etc", "/boot")

_REFUSED = re.compile(
    r"permission denied|read-only file system|operation not permitted|no such file or directory|directory nonexistent"
    r"|\b(?:EACCES|EROFS|EPERM|ENOENT)\b|: not found$",
    re.IGNORECASE,
)
_NOT_THERE = re.compile(r"no such file|nonexistent|ENOENT|: not found$", re.IGNORECASE)
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|‘([^’]+)’|`([^`']+)['`]")
_MAKES = re.compile(r"\b(?:creat\w*|touch|mkdir|writ\w*|overwrit\w*|mkstemp|tee)\b", re.IGNORECASE)
_REMOVES = re.compile(r"\b(?:remov\w*|unlink\w*|renam\w*|mov(?:e|ing)|delet\w*|rm|rmdir|mv)\b", re.IGNORECASE)
_MAKES_DIRECTORY = re.compile(r"\bdirectory\b.*(?:creat|mkdir)|(?:creat\w*|mak\w*) directory|mkdir", re.IGNORECASE)

_HOST = r"['\"‘]?([A-Za-z0-9_.:-]{1,253})"
_UNREACHED = re.compile(
    rf"could not resolve (?:host(?:name)?|proxy):? {_HOST}|resolve host address {_HOST}"
    rf"|getaddrinfo (?:ENOTFOUND|EAI_AGAIN|EAI_FAIL) {_HOST}|\blookup {_HOST}"
    rf"|failed to connect to {_HOST} port (\d+)|connect (?:ENETUNREACH|ECONNREFUSED|EACCES|EPERM) {_HOST}"
    rf"|dial tcp {_HOST}",
    re.IGNORECASE,
)
_NO_NETWORK = re.compile(
    r"name resolution|name or service not known|network is unreachable|no address associated|connection refused",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b(?:https?|ssh|git|ftp)://(?:[^\s/@]{1,200}@)?([A-Za-z0-9_.-]{1,253}(?::\d{1,5})?)")
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|::1)(?::(\d{1,5}))?$")


class AccessContext(msgspec.Struct, frozen=True):
    """Context of the check: the policy, the directory of relative names, and zot's own paths."""

    policy: Policy
    cwd: str
    home: str
    own: tuple[str, ...] = ()


def requests_from_output(output: str, command: str, context: AccessContext) -> list[AccessRequest]:
    """Access that a failed command with this output needed, last complaint first."""
    found: dict[AccessRequest, None] = {}
    tried = 0
    for line in output[-_LINES * _LONGEST :].splitlines()[: -_LINES - 1 : -1]:
        if len(line) > _LONGEST:
            continue
        if _REFUSED.search(line):
            for name in _names_in(line):
                tried += 1
                request = _path_request(name, line, command, context) if tried <= _MOST_NAMED else None
                if request is not None:
                    found[request] = None
                    break
        if not context.policy.network and (request := _network_request(line, command)) is not None:
            found[request] = None
    return list(found)[:MOST]


def request_for_file(path: str, context: AccessContext, *, writing: bool) -> AccessRequest | None:
    """Access that a tool needed which opens files itself."""
    real = os.path.realpath(os.path.join(context.cwd, path))
    return _writing(real, context) if writing else _reading(real, context)


def is_granted(policy: Policy, request: AccessRequest) -> bool:
    if request.access == "network":
        return policy.network
    if beneath_any(request.path, policy.writable) or request.path in policy.write_files:
        return True
    return request.access == "read" and (beneath_any(request.path, policy.read) or request.path in policy.read_files)


def with_access(policy: Policy, requests: Iterable[AccessRequest]) -> Policy:
    for request in requests:
        if is_granted(policy, request):
            continue
        if request.access == "network":
            policy = msgspec.structs.replace(policy, network=True)
            continue
        field = request.access if request.kind == "directory" else f"{request.access}_files"
        policy = msgspec.structs.replace(policy, **{field: (*getattr(policy, field), request.path)})
    return policy


# --- paths


def _names_in(line: str) -> Iterator[str]:
    """Possible paths in a complaint: quoted, between colons, or a word with a slash; the likeliest first."""
    for groups in _QUOTED.findall(line):
        yield from filter(None, groups)
    pieces = [piece.strip() for piece in line.split(": ")]
    yield from reversed([piece for piece in pieces if piece and not _REFUSED.fullmatch(piece)])
    for word in line.split():
        word = word.strip("()[]{}'\"‘’`,;:").rstrip(".")
        if "/" in word:
            yield word


def _path_request(name: str, line: str, command: str, context: AccessContext) -> AccessRequest | None:
    if "\0" in name or len(name) > _LONGEST:
        return None
    with suppress(OSError, ValueError):
        real = os.path.realpath(os.path.join(context.cwd, name))
        makes = (
            _MAKES.search(line.replace(name, "")) is not None
            or re.search(rf">[>|]?[ \t]*['\"]?{re.escape(name)}", command) is not None
        )
        if _REMOVES.search(line.replace(name, "")):
            return None  # it would allow the whole directory
        if not os.path.lexists(real):
            return _making(real, line, context) if makes or not _NOT_THERE.search(line) else None
        inside = _is_readable(real, context)
        return _writing(real, context) if makes or inside else _reading(real, context)
    return None


def _reading(real: str, context: AccessContext) -> AccessRequest | None:
    kind = _kind_of(real)
    if not kind or _is_readable(real, context) or not os.access(real, os.R_OK) or _is_never(real, context):
        return None
    return AccessRequest("read", real, kind)


def _writing(real: str, context: AccessContext) -> AccessRequest | None:
    if not os.path.lexists(real):
        return _making(real, "", context)
    kind = _kind_of(real)
    if not kind or not os.access(real, os.W_OK) or not _may_be_written(real, context):
        return None
    return AccessRequest("write", real, kind)


def _making(real: str, line: str, context: AccessContext) -> AccessRequest | None:
    """A missing path in a directory where the user could create it."""
    parent = os.path.dirname(real)
    if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK) or not _may_be_written(real, context):
        return None
    return AccessRequest("write", real, "directory" if _MAKES_DIRECTORY.search(line) else "file", missing=True)


def _kind_of(path: str) -> Literal["file", "directory", ""]:
    """Only files and directories: a socket or device may lead to a process with more rights."""
    mode = os.lstat(path).st_mode
    return "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""


def _is_readable(real: str, context: AccessContext) -> bool:
    policy = context.policy
    roots = (*policy.readable, *SYSTEM, *etc_directories(), *toolchains(os.environ.get("PATH", ""), context.home))
    return beneath_any(real, roots) or real in (*policy.read_files, *policy.write_files, *etc_files())


def _is_never(real: str, context: AccessContext) -> bool:
    """zot's own files and directories that contain them, a home or the project."""
    if beneath_any(real, (*_NOT_FILES, *context.own)):
        return True
    return any(beneath_any(path, (real.rstrip("/"),)) for path in (context.home, context.policy.root, *context.own))


def _may_be_written(real: str, context: AccessContext) -> bool:
    policy = context.policy
    if beneath_any(real, policy.writable) or real in policy.write_files or _is_never(real, context):
        return False
    if beneath_any(real, (*_NEVER_WRITTEN, *toolchains(os.environ.get("PATH", ""), context.home))):
        return False
    parts = real.split("/")
    if auto_executed_part(parts):
        return False
    own = os.path.relpath(real, context.home).split("/")  # in a home: startup files begin with a dot
    return own[0] == ".." or not own[0].startswith(".") or own[0] == ".cache"


# --- the network


def _network_request(line: str, command: str) -> AccessRequest | None:
    match = _UNREACHED.search(line)
    if match is None and not _NO_NETWORK.search(line):
        return None
    named = next(filter(None, match.groups()), "") if match is not None else ""
    if match is not None and match[6]:
        named = f"{match[5]}:{match[6]}"
    address = named or next(iter(_ADDRESS.findall(line) or _ADDRESS.findall(command)), "")
    host = address.rstrip(".:")
    loopback = _LOOPBACK.match(host)
    if loopback is not None and not _is_listened_to(int(loopback[1] or 0)):
        return None  # it would also fail outside
    if not host and "refused" in line.lower():
        return None
    return AccessRequest("network", host=host)


def _is_listened_to(port: int) -> bool:
    """A service on this machine, outside; not connected to find out."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError, UnicodeError, ValueError, IndexError):
            for row in read_whole(table, 8 << 20).decode().splitlines()[1:]:
                fields = row.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    return True
    return False

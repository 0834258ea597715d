"""Finds hooks: Claude Code's settings files, zot's ``hooks.json``, plugins.
Reading starts nothing; an unusable file or an unknown event skips only its hooks and is reported. Trust covers a file's
hooks and the files they run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError
from zot.features.mcp.config import decode
from zot.features.trust import CommandFiles, merge_files
from zot.system.files import is_missing, read_bytes, user_home

EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit"),
    *("SessionStart", "SessionEnd", "Stop", "SubagentStop", "PreCompact", "Notification"),
)
TOOL_EVENTS = EVENTS[:4]
TIMEOUT_S = 600.0
TIMEOUTS_S = {"UserPromptSubmit": 30.0}  # the run waits for these
LONGEST_S = 86_400.0
OWN_FILE = "hooks.json"
_NAMES = re.compile(r"[A-Za-z0-9_\-, |]+")
_BAD_PATTERN = (re.error, OverflowError, RecursionError)

Origin = Literal["own", "user", "project", "plugin"]


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One command, or the address of a request, and when it runs.
    With ``args`` it is a program started without a shell. ``condition`` is a rule the call must match; ``wakes``: the
    model receives its exit-2 reason although it is asynchronous; ``strict``: a failing hook denies the call.
    ``variables`` are the only ones that ``headers`` of a request may name."""

    event: str
    command: str
    args: tuple[str, ...] | None = None
    matcher: str = ""
    condition: str = ""
    timeout_s: float = TIMEOUT_S
    is_async: bool = False
    wakes: bool = False
    strict: bool = False
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()

    def shown(self) -> str:
        """One line: when it runs and its command."""
        when = f"{self.event} {self.matcher}".strip()
        remarks = [word for word, on in (("async", self.is_async), ("strict", self.strict)) if on]
        if self.condition:
            remarks.insert(0, f"if {self.condition}")
        if self.variables:
            remarks.append(f"sends {', '.join(self.variables)}")
        return f"{when}: {self.line()}" + (f" [{', '.join(remarks)}]" if remarks else "")

    def line(self) -> str:
        """The command line, or the request."""
        if self.url:
            return f"POST {self.url}"
        import shlex  # only where there are hooks

        return self.command if self.args is None else shlex.join((self.command, *self.args))

    def matches(self, *names: str) -> bool:
        """True if the matcher covers one of these names: all for ``*`` or empty, plain names, else a regex."""
        if self.matcher in ("", "*"):
            return True
        if _NAMES.fullmatch(self.matcher):
            return not {name.strip() for name in re.split("[|,]", self.matcher)}.isdisjoint(names)
        try:
            return any(re.search(self.matcher, name) for name in names)
        except _BAD_PATTERN:
            return True  # invalid pattern: matches


class HookSource(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of one file.
    ``name`` is its display name, ``project`` the key of its trust, ``root`` the directory of its scripts, ``given`` its
    own variables, ``pinned`` the files of each hook when the source was read."""

    name: str
    file: str
    origin: Origin
    root: Path
    project: Path
    hooks: tuple[Hook, ...] = ()
    given: dict[str, str] = {}
    pinned: tuple[CommandFiles, ...] = ()

    @property
    def needs_trust(self) -> bool:
        return self.origin in ("user", "project")

    def with_files(self) -> HookSource:
        """With the files its hooks run now; the user's own hooks may run any file."""
        if self.origin == "own":
            return self
        return msgspec.structs.replace(self, pinned=tuple(map(self.files, self.hooks)))

    def files(self, hook: Hook) -> CommandFiles:
        """The project's or the user's Claude Code files that a hook runs."""
        if hook.url:
            return CommandFiles()
        from zot.features.command_search import find_files  # only where there are hooks

        values = {"CLAUDE_PROJECT_DIR": str(self.project), **self.given}
        return find_files(hook.line(), hook.args or (), root=self.root, cwd=self.project, values=values)

    def covered(self) -> CommandFiles:
        return merge_files(self.pinned)

    def content(self) -> bytes:
        """The content that trust covers."""
        rows: list[tuple[Any, ...]] = []
        for hook in self.hooks:
            row = (hook.event, hook.matcher, hook.command, hook.timeout_s, hook.is_async, hook.strict)
            more = (hook.args, hook.condition, hook.wakes)
            request = (hook.url, hook.headers, hook.variables) if hook.url else ()
            rows.append((*row, *more, *request) if any(more) or request else row)
        return msgspec.json.encode((rows, sorted(self.covered().files.items())))


# --- files


def load(home: Path, cwd: Path, problems: list[str], remarks: dict[str, list[str]] | None = None) -> list[HookSource]:
    """Sources with hooks, the user's first; ``disableAllHooks`` of a project disables only the project's hooks.
    Unusable parts are added to ``problems``, or to ``remarks`` by source name if given."""
    user = user_home()
    places: list[tuple[str, Path, Origin, Path, Path]] = [
        ("$ZOT_HOME/hooks.json", home / OWN_FILE, "own", home, cwd),
        ("~/.claude/settings.json", user / ".claude" / "settings.json", "user", user / ".claude", user),
        (".claude/settings.json", cwd / ".claude" / "settings.json", "project", cwd, cwd),
        (".claude/settings.local.json", cwd / ".claude" / "settings.local.json", "project", cwd, cwd),
        (".zot/hooks.json", cwd / ".zot" / OWN_FILE, "project", cwd, cwd),
    ]
    found: list[HookSource] = []
    disabled: set[str] = set()
    seen: set[str] = set()
    for name, path, origin, root, project in places:
        real = os.path.realpath(path)
        if real in seen:  # the home is the project
            continue
        seen.add(real)
        unusable = problems if remarks is None else remarks.setdefault(name, [])
        try:
            data = read_bytes(path)
            value = decode(path, data) if data else {}
            if value.get("disableAllHooks") is True and origin != "project":
                problems.append(f"hooks: all hooks are disabled by {name}")
                return []
            disabled |= {name} if value.get("disableAllHooks") is True else set()
            hooks = hooks_of(value, name, unusable)
        except ConfigError as error:
            problems.append(f"hooks: {error}")
            continue
        except Exception as error:  # one unusable file must not keep zot from starting
            problems.append(f"hooks: {name} cannot be used: {type(error).__name__}: {error}")
            continue
        if hooks:
            source = HookSource(name=name, file=str(path), origin=origin, root=root, project=project, hooks=hooks)
            found.append(source.with_files())
    if disabled:
        problems.append(f"hooks: this project's hooks are disabled by {', '.join(sorted(disabled))}; yours still run")
        found = [source for source in found if source.origin != "project"]
    if not is_missing(home / "plugins.json"):
        from zot.features.plugins.components import enabled_components  # few have plugins

        found += [parts.hooks for parts in enabled_components(home, []) if parts.hooks is not None]
    return found


class _Command(msgspec.Struct):
    type: str = "command"
    command: str = ""
    args: list[str] | None = None
    condition: str | None = msgspec.field(default=None, name="if")
    timeout: float | None = None
    is_async: bool = msgspec.field(default=False, name="async")
    wakes: bool = msgspec.field(default=False, name="asyncRewake")
    strict: bool = False
    onFailure: str = "continue"
    shell: str = "bash"
    url: str = ""
    headers: dict[str, str] = {}
    allowedEnvVars: list[str] = []


_TYPES = ("command", "http")
_SAY_NOTHING = ("once", "statusMessage", "description")  # keys of a settings file, which Claude Code also ignores
_KNOWN = frozenset({*(field.encode_name for field in msgspec.structs.fields(_Command)), *_SAY_NOTHING})
_GROUP_KEYS = frozenset({"matcher", "hooks", "description"})


class _Group(msgspec.Struct):
    matcher: str | None = None
    hooks: list[Any] = []


def hooks_of(value: dict[str, Any], file: str, problems: list[str]) -> tuple[Hook, ...]:
    """The hooks under ``"hooks"``; unusable ones are added to the problems."""
    events: Any = value.get("hooks", {})
    if not isinstance(events, dict):
        problems.append(f'hooks: {file}: "hooks": expected an object {{"EVENT": [{{"hooks": […]}}]}}')
        return ()
    found: list[Hook] = []
    unknown: list[str] = []
    unknown_keys: set[str] = set()
    for event, groups in cast("dict[str, Any]", events).items():
        if event not in EVENTS:
            unknown.append(event)
            continue
        try:
            unknown_keys |= _unknown_keys(groups, _GROUP_KEYS)
            found += _of_event(event, msgspec.convert(groups, list[_Group]), file, problems, unknown_keys)
        except msgspec.ValidationError as error:
            problems.append(f"hooks: {file}: {event}: {error}")
    if unknown:
        problems.append(f"hooks: {file}: skipped hooks of unsupported events: {', '.join(unknown)}")
    if unknown_keys:
        names = ", ".join(f'"{name[:40]}"' for name in sorted(unknown_keys)[:8])
        problems.append(f"hooks: {file}: ignored unknown hook fields: {names}")
    return tuple(found)


def _unknown_keys(items: Any, known: frozenset[str]) -> set[str]:
    """Names of unknown fields in the objects of this list."""
    listed = cast("list[Any]", items) if isinstance(items, list) else []
    return {str(name) for item in listed if isinstance(item, dict) for name in cast("dict[str, Any]", item)} - known


def _of_event(
    event: str, groups: list[_Group], file: str, problems: list[str], unknown_keys: set[str]
) -> Iterator[Hook]:
    for group in groups:
        matcher = group.matcher or ""
        if matcher not in ("", "*") and not _NAMES.fullmatch(matcher):
            try:
                re.compile(matcher)
            except _BAD_PATTERN as error:
                problems.append(f"hooks: {file}: {event}: invalid matcher {matcher!r} ({error}); it matches everything")
        for item in group.hooks:
            try:
                read = msgspec.convert(item, _Command)
            except msgspec.ValidationError as error:
                problems.append(f"hooks: {file}: {event}: {error}")
                continue
            unknown_keys |= _unknown_keys([item], _KNOWN) if read.type in _TYPES else set()
            if read.type not in _TYPES:
                problems.append(
                    f'hooks: {file}: skipped a {event} hook of type "{read.type}"; expected "command" or "http"'
                )
            elif read.type == "http" and not read.url.startswith(("http://", "https://")):
                problems.append(f'hooks: {file}: skipped a {event} hook without "url"; expected http:// or https://')
            elif read.type == "command" and not read.command.strip():
                problems.append(f'hooks: {file}: skipped a {event} hook without "command"')
            elif read.shell != "bash" and read.args is None:
                problems.append(f'hooks: {file}: skipped a {event} hook with shell "{read.shell}"; expected "bash"')
            elif read.condition and event not in TOOL_EVENTS:
                problems.append(f'hooks: {file}: skipped a {event} hook with "if"; only tool events support it')
            else:
                yield _hook(event, matcher, read)


def _hook(event: str, matcher: str, read: _Command) -> Hook:
    usual = TIMEOUTS_S.get(event, TIMEOUT_S)
    seconds = read.timeout if read.timeout is not None and read.timeout > 0 else usual
    is_request = read.type == "http"
    return Hook(
        event=event,
        command="" if is_request else read.command,
        args=None if read.args is None or is_request else tuple(read.args),
        url=read.url if is_request else "",
        headers=tuple(read.headers.items()) if is_request else (),
        variables=tuple(read.allowedEnvVars) if is_request else (),
        matcher=matcher,
        condition=read.condition or "",
        timeout_s=min(seconds, LONGEST_S),
        is_async=read.is_async or read.wakes,
        wakes=read.wakes,
        strict=read.strict or read.onFailure == "block",
    )

"""Finds hooks: Claude Code's settings files, zot's ``hooks.json``, plugins. Reading starts nothing; an unusable file
or an unknown event costs only its hooks and one line. Trust covers a file's hooks and the scripts they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError
from zot.features.mcp.config import decode
from zot.system.digest import sha256
from zot.system.files import is_missing, read_bytes, user_home
from zot.system.safe_open import read_whole

EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit"),
    *("SessionStart", "SessionEnd", "Stop", "SubagentStop", "PreCompact"),
)
TOOL_EVENTS = EVENTS[:4]
TIMEOUT_S = 600.0
TIMEOUTS_S = {"UserPromptSubmit": 30.0}  # where somebody waits
LONGEST_S = 86_400.0
OWN_FILE = "hooks.json"
_SCRIPT_BYTES = 4 << 20
_NAMES = re.compile(r"[A-Za-z0-9_\-, |]+")

Origin = Literal["own", "user", "project", "plugin"]


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One command and when it runs. With ``args`` it is a program that is started with them, without a shell.
    ``condition`` is a rule the call must fit; ``rouses``: what it says with exit 2 is told to the model although nobody
    waited for it; ``strict``: a call does not run when its hook failed."""

    event: str
    command: str
    args: tuple[str, ...] | None = None
    matcher: str = ""
    condition: str = ""
    timeout_s: float = TIMEOUT_S
    is_async: bool = False
    rouses: bool = False
    strict: bool = False

    def shown(self) -> str:
        """On one line, what would run and when."""
        when = f"{self.event} {self.matcher}".strip()
        remarks = [word for word, on in (("async", self.is_async), ("strict", self.strict)) if on]
        if self.condition:
            remarks.insert(0, f"if {self.condition}")
        return f"{when}: {self.line()}" + (f" [{', '.join(remarks)}]" if remarks else "")

    def line(self) -> str:
        """What is started, as one would type it."""
        import shlex  # only where there are hooks

        return self.command if self.args is None else shlex.join((self.command, *self.args))

    def matches(self, *names: str) -> bool:
        """Whether it is for one of these names of the same thing: an empty matcher or ``*`` is for everything, plain
        names are themselves, anything else is a pattern for a part of the name."""
        if self.matcher in ("", "*"):
            return True
        if _NAMES.fullmatch(self.matcher):
            return not {name.strip() for name in re.split("[|,]", self.matcher)}.isdisjoint(names)
        try:
            return any(re.search(self.matcher, name) for name in names)
        except re.error:
            return True  # nobody can tell, so it is asked


class HookSource(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks of one file. ``name`` is what people call it, ``project`` where its trust is kept, ``root`` what its
    scripts lie in, ``given`` variables that only it has."""

    name: str
    file: str
    origin: Origin
    root: Path
    project: Path
    hooks: tuple[Hook, ...] = ()
    given: dict[str, str] = {}

    @property
    def needs_trust(self) -> bool:
        return self.origin in ("user", "project")

    def scripts(self) -> dict[str, str]:
        """Files of the project, or of the user's Claude Code, that the commands name, with their digests."""
        found: dict[str, str] = {}
        for hook in self.hooks:
            for path in _named_files(hook, self):
                if str(path) not in found:
                    found[str(path)] = digest_of(path)
        return found

    def content(self) -> bytes:
        """What must not change behind the back of who trusted it."""
        rows: list[tuple[Any, ...]] = []
        for hook in self.hooks:
            row = (hook.event, hook.matcher, hook.command, hook.timeout_s, hook.is_async, hook.strict)
            more = (hook.args, hook.condition, hook.rouses)
            rows.append((*row, *more) if any(more) else row)
        return msgspec.json.encode((rows, sorted(self.scripts().items())))


def digest_of(path: Path) -> str:
    try:
        return sha256(read_whole(path, _SCRIPT_BYTES))
    except OSError:
        return ""


def _named_files(hook: Hook, source: HookSource) -> Iterator[Path]:
    import shlex  # only where there are hooks

    try:
        words = shlex.split(hook.line().replace(";", " ; "))
    except ValueError:
        words = hook.command.split()
    values = {"CLAUDE_PROJECT_DIR": str(source.project), **source.given}
    for word in words:
        for name, value in values.items():
            word = word.replace(f"${{{name}}}", value).replace(f"${name}", value)
        path = Path(os.path.normpath(os.path.join(source.project, os.path.expanduser(word))))
        if path.is_relative_to(source.root) and path.is_file():
            yield path


# --- files


def load(home: Path, cwd: Path, problems: list[str], remarks: dict[str, list[str]] | None = None) -> list[HookSource]:
    """The sources that have hooks, the user's first; none when one says ``disableAllHooks``. What cannot be used of a
    source is a problem, or where ``remarks`` are wanted, one of those by the source's name."""
    user = user_home()
    places: list[tuple[str, Path, Origin, Path, Path]] = [
        ("$ZOT_HOME/hooks.json", home / OWN_FILE, "own", home, cwd),
        ("~/.claude/settings.json", user / ".claude" / "settings.json", "user", user / ".claude", user),
        (".claude/settings.json", cwd / ".claude" / "settings.json", "project", cwd, cwd),
        (".claude/settings.local.json", cwd / ".claude" / "settings.local.json", "project", cwd, cwd),
        (".zot/hooks.json", cwd / ".zot" / OWN_FILE, "project", cwd, cwd),
    ]
    found: list[HookSource] = []
    seen: set[str] = set()
    for name, path, origin, root, project in places:
        real = os.path.realpath(path)
        if real in seen:  # the home is the project
            continue
        seen.add(real)
        try:
            data = read_bytes(path)
            value = decode(path, data) if data else {}
        except ConfigError as error:
            problems.append(f"hooks: {error}")
            continue
        if value.get("disableAllHooks") is True:
            problems.append(f"hooks: {name} switches all hooks off")
            return []
        unusable = problems if remarks is None else remarks.setdefault(name, [])
        hooks = hooks_of(value, name, unusable)
        if hooks:
            found.append(HookSource(name=name, file=str(path), origin=origin, root=root, project=project, hooks=hooks))
    if not is_missing(home / "plugins.json"):
        from zot.features.plugins.components import in_use  # few have plugins

        found += [parts.hooks for parts in in_use(home, []) if parts.hooks is not None]
    return found


class _Command(msgspec.Struct):
    type: str = "command"
    command: str = ""
    args: list[str] | None = None
    condition: str | None = msgspec.field(default=None, name="if")
    timeout: float | None = None
    is_async: bool = msgspec.field(default=False, name="async")
    rouses: bool = msgspec.field(default=False, name="asyncRewake")
    strict: bool = False
    onFailure: str = "continue"
    shell: str = "bash"


_SAY_NOTHING = ("once", "statusMessage", "description")  # of a settings file; Claude Code passes over the first, too
_KNOWN = frozenset({*(field.encode_name for field in msgspec.structs.fields(_Command)), *_SAY_NOTHING})
_GROUP_KEYS = frozenset({"matcher", "hooks", "description"})


class _Group(msgspec.Struct):
    matcher: str | None = None
    hooks: list[Any] = []


def hooks_of(value: dict[str, Any], file: str, problems: list[str]) -> tuple[Hook, ...]:
    """The hooks under ``"hooks"``; each that cannot be used is a problem."""
    events: Any = value.get("hooks", {})
    if not isinstance(events, dict):
        problems.append(f'hooks: {file}: "hooks" must be an object: {{"EVENT": [{{"hooks": […]}}]}}')
        return ()
    found: list[Hook] = []
    unknown: list[str] = []
    strange: set[str] = set()
    for event, groups in cast("dict[str, Any]", events).items():
        if event not in EVENTS:
            unknown.append(event)
            continue
        try:
            strange |= _strange(groups, _GROUP_KEYS)
            found += _of_event(event, msgspec.convert(groups, list[_Group]), file, problems, strange)
        except msgspec.ValidationError as error:
            problems.append(f"hooks: {file}: {event}: {error}")
    if unknown:
        problems.append(f"hooks: {file}: zot has no {', '.join(unknown)}; these hooks do not run")
    if strange:
        names = ", ".join(f'"{name[:40]}"' for name in sorted(strange)[:8])
        problems.append(f"hooks: {file}: zot does not know what {names} of a hook means and goes on without")
    return tuple(found)


def _strange(items: Any, known: frozenset[str]) -> set[str]:
    """Names of what the objects of this list say and nobody here reads."""
    listed = cast("list[Any]", items) if isinstance(items, list) else []
    return {str(name) for item in listed if isinstance(item, dict) for name in cast("dict[str, Any]", item)} - known


def _of_event(event: str, groups: list[_Group], file: str, problems: list[str], strange: set[str]) -> Iterator[Hook]:
    for group in groups:
        matcher = group.matcher or ""
        if matcher not in ("", "*") and not _NAMES.fullmatch(matcher):
            try:
                re.compile(matcher)
            except re.error as error:
                problems.append(
                    f"hooks: {file}: the matcher {matcher!r} of {event} is no pattern ({error}): it is "
                    "taken to fit everything"
                )
        for item in group.hooks:
            try:
                read = msgspec.convert(item, _Command)
            except msgspec.ValidationError as error:
                problems.append(f"hooks: {file}: {event}: {error}")
                continue
            strange |= _strange([item], _KNOWN) if read.type == "command" else set()
            if read.type != "command":
                problems.append(f'hooks: {file}: a {event} hook of type "{read.type}" does not run; zot has "command"')
            elif not read.command.strip():
                problems.append(f'hooks: {file}: a {event} hook has no "command"')
            elif read.shell != "bash" and read.args is None:
                problems.append(
                    f'hooks: {file}: a {event} hook for "{read.shell}" does not run; zot has the shell "bash"'
                )
            elif read.condition and event not in TOOL_EVENTS:
                problems.append(f'hooks: {file}: a {event} hook has an "if", which only calls can fit: it never runs')
            else:
                yield _hook(event, matcher, read)


def _hook(event: str, matcher: str, read: _Command) -> Hook:
    usual = TIMEOUTS_S.get(event, TIMEOUT_S)
    seconds = read.timeout if read.timeout is not None and read.timeout > 0 else usual
    return Hook(
        event=event,
        command=read.command,
        args=None if read.args is None else tuple(read.args),
        matcher=matcher,
        condition=read.condition or "",
        timeout_s=min(seconds, LONGEST_S),
        is_async=read.is_async or read.rouses,
        rouses=read.rouses,
        strict=read.strict or read.onFailure == "block",
    )

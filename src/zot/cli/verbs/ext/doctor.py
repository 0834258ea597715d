"""``zot ext doctor``: loads extensions as a normal start does, reports on each, and stops them.

Untrusted project extensions are listed, not started.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.output import print_escaped
from zot.cli.verb_table import options
from zot.features.extensions.extension_check import Findings, examine
from zot.features.extensions.install.installed import all_installed
from zot.features.extensions.loader.discovery import DiscoveredExtension
from zot.features.extensions.loader.extension_trust import UntrustedExtension
from zot.features.extensions.registry import ExtensionStatus
from zot.features.process_log import last_output
from zot.frontends.console import run_loop
from zot.system.files import zot_home
from zot.system.visible_text import escape_invisible
from zot.tui.sanitize import one_line

_READY = {"frame": "ready", "idle": "assumed ready: it sent no `ready`", "grace": "timed out: not ready after 3 s"}
_LAST_LINES = 5


def run(argv: list[str]) -> int:
    """Load a path as with ``--ext``, and all others; report only the named ones."""
    words = parse(argv, options("ext doctor"), least=0, most=1000).words
    names = {item.name for item in all_installed() for word in words if word in (item.name, item.directory.name)}
    known = {word for item in all_installed() for word in (item.name, item.directory.name)}
    paths = [Path(os.path.abspath(os.path.expanduser(word))) for word in words if word not in known]
    findings = run_loop(examine(zot_home(), Path.cwd(), paths))
    if words:
        _keep_named(findings, names, paths)
    for line in report(findings):
        print_escaped(line)
    return 1 if findings.problems else 0


def _keep_named(findings: Findings, names: set[str], paths: list[Path]) -> None:
    """Restrict the findings to these extensions; problems and notes name a directory or extension."""
    entries = [
        entry
        for entry in findings.discovery.entries
        if entry.manifest.name in names or entry.manifest.directory in paths
    ]
    wanted = names | {entry.manifest.name for entry in entries}
    places = [str(path) for path in (*paths, *(entry.manifest.directory for entry in entries))]
    places += [str(item.directory) for item in all_installed() if item.name in wanted]

    def concerns(line: str) -> bool:
        words = line.replace(":", " ").replace(",", " ").split()
        return any(place in line for place in places) or any(name in words for name in wanted)

    findings.discovery.entries = entries
    findings.statuses = [status for status in findings.statuses if status.name in wanted]
    findings.discovery.notes = [line for line in findings.discovery.notes if concerns(line)]
    findings.discovery.quiet = [line for line in findings.discovery.quiet if concerns(line)]
    findings.load_errors = [line for line in findings.load_errors if concerns(line)]
    findings.untrusted = [entry for entry in findings.untrusted if str(entry.directory) in places]
    findings.leftovers = []


def report(findings: Findings) -> Iterator[str]:
    statuses = {status.name: status for status in findings.statuses}
    for entry in findings.discovery.entries:
        status = statuses.get(entry.manifest.name)
        manifest = entry.manifest
        kind = "guard" if manifest.guard or (status and status.guard) else manifest.kind
        state = _state(status) if status else "loaded; it has no process"
        yield escape_invisible(f"{manifest.name} {manifest.version or '-'} ({entry.scope} {kind}): {state}")
        yield from (f"  {label:12}{escape_invisible(text)}" for label, text in _details(entry, status))
    yield from _section("not trusted, not started", map(_untrusted_line, findings.untrusted))
    yield from _section("notes", [*findings.discovery.notes, *findings.discovery.quiet])
    yield from _section("left over, safe to delete", map(str, findings.leftovers))
    if findings.removed:
        names = ", ".join(findings.removed)
        yield f"not passed to extensions: {names} (to pass one, add it to env_passthrough in config.json)"
    yield from _section("problems", findings.problems)
    if not (findings.discovery.entries or findings.untrusted or findings.problems):
        yield "no extensions found"


def _details(entry: DiscoveredExtension, status: ExtensionStatus | None) -> Iterator[tuple[str, str]]:
    yield "directory", str(entry.manifest.directory)
    if status is None:
        return
    yield "permissions", "; ".join(status.permissions)
    yield "commands", _names(status.commands, status.shadowed_commands, "/")
    yield "tools", _names(status.tools, status.shadowed_tools, "")
    if status.intercepts:
        yield "intercepts", ", ".join(status.intercepts)
    yield from (("fault", fault) for fault in status.faults)
    yield "data", str(entry.data_dir)
    if status.log_path:
        yield "log", str(status.log_path)
        if status.state != "ready":
            yield from (("", one_line(line)) for line in last_output(status.log_path)[-_LAST_LINES:])


def _state(status: ExtensionStatus) -> str:
    if status.state == "ready":
        return _READY.get(status.ready_how, "ready")
    return "not running" if status.state in ("gone", "restarting") else f"still {status.state}"


def _names(active: tuple[str, ...], shadowed: tuple[str, ...], mark: str) -> str:
    words = [f"{mark}{name}" for name in active] + [f"{mark}{name} (hidden by another)" for name in shadowed]
    return ", ".join(words) or "-"


def _untrusted_line(entry: UntrustedExtension) -> str:
    command = shlex.join((entry.exec, *entry.args))
    may = "; ".join(entry.permissions)
    why = f"changed: {', '.join(entry.changes)}" if entry.changes else "new"
    return f"{entry.name} ({why}) runs `{command}`, {may}; allow it with `zot ext trust {entry.directory}`"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = [f"  {escape_invisible(line)}" for line in lines]
    if body:
        yield f"{title}:"
        yield from body

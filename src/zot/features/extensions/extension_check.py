"""What ``zot doctor`` says of extensions: each one that is installed, its trust, and whether it starts.

Yours and those you trusted are started as a run starts them and stopped again; what is not trusted is named, never run.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from zot.cli.verbs.ext.doctor import Findings, examine
from zot.errors import ZotError
from zot.features.extensions.install.installed import Installed, all_installed
from zot.features.extensions.loader.discovery import discover
from zot.features.extensions.loader.extension_trust import ExtensionTrust, untrusted_extensions
from zot.features.extensions.registry import ExtensionStatus
from zot.frontends.console import run_loop


class Checked(msgspec.Struct, frozen=True):
    name: str
    scope: str
    directory: str
    state: str
    """ready, runs nothing, disabled, not trusted, changed, broken or skipped"""
    problem: str = ""
    log: str = ""

    @property
    def line(self) -> str:
        return f"{self.name} ({self.scope}): {self.state}"


class Extensions(msgspec.Struct, frozen=True):
    checked: list[Checked]
    notes: list[str]
    problems: list[str]


def check_extensions(home: Path, cwd: Path, running: list[ExtensionStatus] | None = None) -> Extensions:
    """``running``: those of a conversation that goes on, which are looked at instead of starting others."""
    from zot.features.extensions.loader.bundled_skills import skill_files

    installed = all_installed(home, cwd)
    try:
        findings = run_loop(examine(home, cwd, [])) if running is None else _looked_at(home, cwd, running)
    except (ZotError, OSError) as error:
        return Extensions([], [], [f"extensions: {error}"])
    checked = [_checked(item, findings) for item in installed]
    problems = [f"extension {item.name} ({item.directory}): {item.problem}" for item in checked if item.problem]
    named = {item.directory for item in checked if item.problem}
    for lost in findings.discovery.problems:  # a guard whose directory is gone is not installed any more
        if str(lost.directory) not in named:
            problems.append(f"extension {lost.directory}: {lost.told}")
    problems += skill_files(findings.discovery.entries)[1]
    return Extensions(checked, [*findings.discovery.notes, *map(_leftover, findings.leftovers)], problems)


def _looked_at(home: Path, cwd: Path, running: list[ExtensionStatus]) -> Findings:
    trust = ExtensionTrust(home)
    found = discover(explicit=(), cwd=cwd, home=home, scan=True, trust=trust, trust_project=False)
    return Findings(found, running, [], untrusted_extensions(cwd, trust), [], [])


def _checked(item: Installed, findings: Findings) -> Checked:
    state, problem, log = _state(item, findings)
    return Checked(item.name, item.scope, str(item.directory), state, problem, log)


def _state(item: Installed, findings: Findings) -> tuple[str, str, str]:
    """In a word, what is wrong, and where to read more."""
    told = next((found.told for found in findings.discovery.problems if found.directory == item.directory), "")
    if told or item.manifest is None:
        return "broken", told or "its manifest cannot be used", ""
    if not item.manifest.enabled:
        return "disabled", "", ""
    for untrusted in findings.untrusted:
        if untrusted.directory == item.directory:
            changes = ", ".join(untrusted.changes)
            fix = f"`zot ext trust {item.directory}` trusts it as it is now"
            return (
                ("changed", f"changed since you trusted it ({changes}); {fix}", "")
                if changes
                else ("not trusted", "", "")
            )
    status = next((found for found in findings.statuses if _is(found, item)), None)
    if status is not None:
        return _running(status)
    loaded = any(entry.manifest.name == item.name for entry in findings.discovery.entries)
    return ("runs nothing" if loaded and not item.manifest.has_process else "skipped"), "", ""


def _is(status: ExtensionStatus, item: Installed) -> bool:
    return (status.name, status.scope) == (item.name, item.scope)


def _running(status: ExtensionStatus) -> tuple[str, str, str]:
    log = str(status.log_path or "")
    if status.state == "ready" and not status.faults:
        return "ready", "", log
    why = "; ".join(status.faults) or "it did not become ready"
    return ("broken" if status.state != "ready" else "ready"), f"{why} (`zot ext logs {status.name}`)", log


def _leftover(path: Path) -> str:
    return f"left over from an install that was killed, safe to delete: {path}"

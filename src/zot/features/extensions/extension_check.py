"""Checks every installed extension: manifest, trust and start; for `zot doctor` and `zot ext doctor`. Untrusted
extensions are never started."""

from __future__ import annotations

from pathlib import Path

import msgspec

from zot import __version__
from zot.agent.extension_ui import ExtensionUI
from zot.agent.settings import Settings
from zot.agent.snapshot import ConversationSnapshot
from zot.agent.tools.registry import ALL_TOOLS
from zot.agent.tools.workspace import Workspace
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.install.installed import Installed, all_installed
from zot.features.extensions.loader.discovery import STAGING, Discovery, discover, global_dir
from zot.features.extensions.loader.extension_trust import ExtensionTrust, UntrustedExtension, untrusted_extensions
from zot.features.extensions.registry import ExtensionStatus
from zot.provider.catalog import Catalog
from zot.provider.providers import credential_variables

_EXPLICIT_GRACE_S = 10.0


class Findings(msgspec.Struct):
    discovery: Discovery
    statuses: list[ExtensionStatus]
    load_errors: list[str]
    untrusted: list[UntrustedExtension]
    removed: list[str]
    """credential variables the children did not get"""
    leftovers: list[Path]
    """directories left by a killed install or removal"""

    @property
    def problems(self) -> list[str]:
        """Extensions that failed to load or did not become ready."""
        reported = " ".join(self.load_errors)
        silent = [item for item in self.statuses if item.state != "ready" and str(item.directory) not in reported]
        lines = [f"extension {item.name}: {'; '.join(item.faults) or 'did not become ready'}" for item in silent]
        return [*self.load_errors, *lines]


async def examine(home: Path, cwd: Path, explicit: list[Path]) -> Findings:
    """Start the extensions of a run, ``explicit`` ones also, and stop them again."""
    settings, trust = Settings(home), ExtensionTrust(home)
    credentials = credential_variables(Catalog(home).providers().values())
    workspace = Workspace(cwd, credentials=credentials, passthrough=settings.values.env_passthrough)
    host = ExtensionHost(
        home=home,
        cwd=cwd,
        surface=ExtensionUI(),  # the findings contain everything
        zot_version=__version__,
        present=lambda: ConversationSnapshot(settings.values.provider, settings.values.model, "", "", "", str(cwd)),
        on_fault=lambda text: None,
        environment=workspace.child_environment,
        granted=workspace.granted,
        removed_credentials=workspace.removed_credentials(),
        explicit=explicit,
        scan=True,
        trust=trust,
        explicit_grace_s=_EXPLICIT_GRACE_S,
        remember_guards=False,
    )
    try:
        await host.start()
        host.tools((*ALL_TOOLS, *settings.values.tools, "skill"))  # it provides the built-in names
        statuses = host.statuses()
    finally:
        await host.stop()
    return Findings(
        host.plan(),
        statuses,
        list(host.diagnostics.load_errors),
        untrusted_extensions(cwd, trust),
        workspace.removed_credentials(),
        sorted(global_dir(home).glob(f"{STAGING}*")),
    )


class ExtensionCheck(msgspec.Struct, frozen=True):
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
    checked: list[ExtensionCheck]
    notes: list[str]
    problems: list[str]


def check_extensions(home: Path, cwd: Path, findings: Findings) -> Extensions:
    """The state and the problems of each installed extension."""
    from zot.features.extensions.loader.discovery import skill_files

    installed = all_installed(home, cwd)
    checked = [_checked(item, findings) for item in installed]
    problems = [f"extension {item.name} ({item.directory}): {item.problem}" for item in checked if item.problem]
    named = {item.directory for item in checked if item.problem}
    for lost in findings.discovery.problems:  # a guard with a missing directory is no longer installed
        if str(lost.directory) not in named:
            problems.append(f"extension {lost.directory}: {lost.message}")
    problems += skill_files(findings.discovery.entries)[1]
    return Extensions(checked, [*findings.discovery.notes, *map(_leftover, findings.leftovers)], problems)


def running_findings(home: Path, cwd: Path, running: list[ExtensionStatus]) -> Findings:
    """The findings of an open conversation, whose extensions already run."""
    trust = ExtensionTrust(home)
    found = discover(explicit=(), cwd=cwd, home=home, scan=True, trust=trust, trust_project=False)
    return Findings(found, running, [], untrusted_extensions(cwd, trust), [], [])


def _checked(item: Installed, findings: Findings) -> ExtensionCheck:
    state, problem, log = _state(item, findings)
    return ExtensionCheck(item.name, item.scope, str(item.directory), state, problem, log)


def _state(item: Installed, findings: Findings) -> tuple[str, str, str]:
    """State, problem and where to read more."""
    problem = next((found.message for found in findings.discovery.problems if found.directory == item.directory), "")
    if problem or item.manifest is None:
        return "broken", problem or "cannot read its manifest", ""
    if not item.manifest.enabled:
        return "disabled", "", ""
    for untrusted in findings.untrusted:
        if untrusted.directory == item.directory:
            changes = ", ".join(untrusted.changes)
            fix = f"trust it as it is now: `zot ext trust {item.directory}`"
            return (
                ("changed", f"changed since you trusted it ({changes}); {fix}", "")
                if changes
                else ("not trusted", "", "")
            )
    status = next(
        (found for found in findings.statuses if ((found.name, found.scope) == (item.name, item.scope))), None
    )
    if status is not None:
        log = str(status.log_path or "")
        if status.state == "ready" and not status.faults:
            return "ready", "", log
        why = "; ".join(status.faults) or "did not become ready"
        return ("broken" if status.state != "ready" else "ready"), f"{why} (see `zot ext logs {status.name}`)", log
    loaded = any(entry.manifest.name == item.name for entry in findings.discovery.entries)
    return ("runs nothing" if loaded and not item.manifest.has_process else "skipped"), "", ""


def _leftover(path: Path) -> str:
    return f"leftover of a killed install, safe to delete: {path}"

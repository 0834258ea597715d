"""Extensions in a conversation: starts the host and offers it to front ends."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot import __version__
from zot.agent.extension_ui import ExtensionUI
from zot.agent.feature import Feature, PromptDraft
from zot.agent.slash_commands import SlashCommand
from zot.core.tool import Tool
from zot.errors import ConfigError, ExtensionError, NotThere
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.loader.discovery import DiscoveryFailed, candidates, discover, global_dir, project_dir
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.manifest import FILE, read_manifest
from zot.features.extensions.tools import ExtensionTool
from zot.provider.providers import JOINED
from zot.system.files import read_bytes
from zot.wire.limits import READY_GRACE_EXPLICIT

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.agent.services import Services
    from zot.agent.session_change import SessionChange
    from zot.agent.slash_commands import CommandAnswer
    from zot.agent.user_shell import ShellDraft
    from zot.core.permission_gate import Answer, ApprovalQuestion
    from zot.features.extensions.host import ReloadStats
    from zot.features.skills.discovery import SkillFile
    from zot.features.templates.discovery import TemplateDir


class ExtensionsFeature(Feature):
    name = "extensions"
    priority = 1

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        services, workspace = self.services, conversation.workspace
        config = services.config
        self.host = ExtensionHost(
            home=conversation.home,
            cwd=workspace.cwd,
            project=services.project,
            surface=services.front_end.surface or ExtensionUI(),
            zot_version=__version__,
            present=lambda: conversation.snapshot,
            on_fault=partial(self.notify, level="error"),
            environment=workspace.child_environment,
            granted=workspace.granted,
            removed_credentials=workspace.removed_credentials(),
            explicit=[_extension_path(path) for path in config.ext],
            scan=config.installed_extensions,
            trust=_trust(conversation.home, config.trusted_for_run),
            trust_project=config.trust_project,
            required_guards=config.required_guards,
            tool_timeout_s=services.settings.values.extension_tool_timeout_s,
            tool_max_s=services.settings.values.extension_tool_max_s,
            flag_values=config.extension_flags,
            explicit_grace_s=READY_GRACE_EXPLICIT if config.patient_with_ext else 0,
        )

    @classmethod
    def prepare(cls, services: Services) -> None:
        for path in services.config.ext:
            directory = _extension_path(path)
            try:
                read_manifest(directory)
            except ExtensionError as error:
                where, reason = f"extension {directory}", str(error)
                if directory.is_dir() and os.path.lexists(directory / FILE):
                    raise NotThere(f"{where}: {reason}; details: `zot ext check {directory}`") from error
                reason = "is a file" if directory.is_file() else reason
                raise NotThere(f"{where}: {reason}; expected the directory that contains {FILE}") from error
        _join_named_providers(services)

    async def start(self) -> None:
        """From here on extensions receive events and may deny."""
        host, agent = self.host, self.conversation.agent
        host.conversation, host.mode = self.conversation, self.services.front_end.mode
        host.run_tool = agent.run_tool
        host.on_tools_changed = self.conversation.refresh_tools
        agent.interceptors.append(host.interceptor)
        agent.readers.subscribe(host.observe, *host.observed)
        agent.system_editor = host.edit_system_prompt
        self.system_prompt.add_section("tool guidelines", self._guidelines, order=15)
        resolved = self.conversation.resolved
        if resolved.api != JOINED:
            await host.start()
            return
        await host.start(first=host.providers.owner_of(resolved.provider.id))
        if problem := await host.providers.settle(resolved.provider.id):
            self.notify(problem, "error")

    def _guidelines(self) -> str:
        """What extensions ask of the model while their tools are offered."""
        tools = self.conversation.agent.toolbox.values()
        lines = [line for tool in tools if isinstance(tool, ExtensionTool) for line in tool.guidelines]
        return "\n".join(["Guidelines of extensions:", *(f"- {line}" for line in lines)]) if lines else ""

    def replace_tools(self, tools: list[Tool]) -> list[Tool]:
        return self.host.replace_tools(tools)

    def limit_tools(self, tools: list[Tool]) -> list[Tool]:
        return self.host.limit_tools(tools)

    def problems(self) -> list[str]:
        return self.host.overrides.lines() if self.host.overrides is not None else []

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return self.host.tools(taken)

    def tool_names(self) -> Iterable[str]:
        """Includes deferred tools."""
        return [name for status in self.host.statuses() for name in status.tools]

    @property
    def is_starting(self) -> bool:
        return any(status.state != "gone" and status.ready_how != "frame" for status in self.host.statuses())

    async def on_input(self, draft: PromptDraft) -> str:
        interceptor = self.host.interceptor
        return await interceptor.late.input(draft) if interceptor.intercepted("input") else ""

    def settings_changed(self) -> None:
        self.host.settings_changed()

    def limits_changed(self) -> None:
        self.host.limits_changed()

    @property
    def reviews_shell(self) -> bool:
        return self.host.interceptor.intercepted("user_shell")

    async def on_shell(self, draft: ShellDraft) -> str:
        verdict = await self.host.interceptor.late.user_shell(draft.command, draft.hidden, draft.cwd)
        draft.command = verdict.text
        if verdict.handled:
            draft.handled, draft.output, draft.code = verdict.extension, verdict.output, verdict.code
        return verdict.refusal

    @property
    def reviews_session_changes(self) -> bool:
        return self.host.interceptor.intercepted("session_before")

    async def before_session_change(self, change: SessionChange) -> str:
        return await self.host.interceptor.late.before_session(change)

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        approvals = self.host.approvals
        return None if approvals is None else approvals.answer(question)

    def on_prompt(self, draft: PromptDraft) -> None:
        if "conversation_input" in self.host.__dict__:
            self.host.conversation_input.prompted(draft)

    async def wait_for_results(self) -> str:
        """Wait shortly for prompts of extensions that follow the end of a prompt; the caller runs queued ones."""
        if any("chat" in child.granted for child in self.host.children):
            from zot.features.extensions.conversation_input import wait_for_followers

            await wait_for_followers(self.conversation, self.host.children)
        return ""

    def slash_commands(self) -> Iterable[SlashCommand]:
        for info in self.host.commands():
            more = self.host.command_extras(info)
            yield SlashCommand(info.name, info.description, source=info.extension, extension=info.extension, **more)

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        return await self.host.run_command(name, arguments)

    def skill_files(self) -> list[SkillFile]:
        from zot.features.extensions.loader.discovery import skill_files

        files, problems = skill_files(self.host.plan().entries)
        for text in problems:
            self.notify(text)
        return files if self.host.resources is None else [*files, *self.host.resources.skill_files()]

    def template_dirs(self) -> list[TemplateDir]:
        return [] if self.host.resources is None else self.host.resources.template_dirs()

    def for_worker(self, config: RunConfig) -> RunConfig:
        """A guard of this conversation that does not run in the worker denies the worker's calls."""
        trusted = (f"extension - {directory}" for directory in self.host.trust.trusted_for_session)
        return msgspec.structs.replace(
            config,
            required_guards=self.host.guard_directories(),
            trusted_for_run=(*config.trusted_for_run, *trusted),
        )

    async def aclose(self) -> None:
        await self.host.stop()


async def ensure_extensions(conversation: Conversation) -> ExtensionHost | None:
    """The host; starts extensions installed since the run began. None without extensions."""
    feature = await conversation.features.join_late(conversation, ExtensionsFeature)
    return feature.host if feature is not None else None


async def reload_extensions(conversation: Conversation) -> ReloadStats | None:
    """Restart all extensions; the conversation continues. None without extensions. Needs an idle agent."""
    host = await ensure_extensions(conversation)
    if host is None:
        return None
    conversation.agent.boundary.on_input("reload")
    stats = await host.reload()
    conversation.agent.invalidate_system_prompt()
    return stats


def _join_named_providers(services: Services) -> None:
    """Add the model providers that manifests name to the catalog, so that a model of theirs can be chosen."""
    config, home = services.config, services.home
    directories = [_extension_path(path) for path in config.ext]
    if config.installed_extensions:
        for parent in (project_dir(services.project), global_dir(home)):
            with suppress(DiscoveryFailed):  # reported at the start
                directories += candidates(parent)
    if not any(_names_providers(directory) for directory in directories):
        return
    from zot.features.extensions.loader.known_providers import named_providers  # few extensions bring one
    from zot.features.extensions.providers.registry import ExtensionProviders

    found = discover(
        explicit=[_extension_path(path) for path in config.ext],
        cwd=services.project,
        home=home,
        scan=config.installed_extensions,
        trust=_trust(home, config.trusted_for_run),
        trust_project=config.trust_project,
        required_guards=config.required_guards,
    )
    if named := named_providers(home, found.entries):
        services.catalog.join(ExtensionProviders(services, named))


def _names_providers(directory: Path) -> bool:
    """A cheap look; the manifest is read later."""
    try:
        return b'"provides"' in (read_bytes(directory / FILE) or b"")
    except ConfigError:
        return False


def _trust(home: Path, for_run: Iterable[str]) -> ExtensionTrust:
    trust = ExtensionTrust(home)
    for entry in for_run:
        kind, _, directory = entry.split(" ", 2)
        if kind == "extension":
            with suppress(ExtensionError):  # a guard that is gone is required, and missing
                trust.trust_for_session(Path(directory))
    return trust


def _extension_path(typed: str) -> Path:
    return Path(os.path.abspath(os.path.expanduser(typed)))

"""Asks in one question whether a project's programs may run, and about extensions that need more rights."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Literal

from zot.errors import ConfigError, ExtensionError, describe_error
from zot.features.extensions.loader.data_dir import LOCK
from zot.features.lookup import extension_host, hook_host, mcp_host
from zot.features.questions import Question, QuestionQueue, question_queue
from zot.features.trust import Untrusted, list_untrusted, trust_all

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.extensions.host import ExtensionHost
    from zot.features.extensions.loader.lock_file import PermissionChange

Decision = Literal["trust", "editing", "skip"]


class TrustQuestion(Question[Decision], frozen=True):
    """Asks whether these may run. ``editing`` trusts them in this run and saves nothing."""

    kind: ClassVar[str] = "trust"
    items: tuple[Untrusted, ...]

    def denial(self, reason: str = "") -> Decision:
        return "skip"


class GrantQuestion(Question[Decision], frozen=True):
    """Asks whether extensions of the user may have more permissions."""

    kind: ClassVar[str] = "grant"
    extensions: tuple[PermissionChange, ...]

    def denial(self, reason: str = "") -> Decision:
        return "skip"


async def ask_about_trust(conversation: Conversation) -> bool:
    """Ask all pending questions; true if another extension may run now."""
    queue = question_queue(conversation.services)
    async with queue.section("trust"):
        extensions = extension_host(conversation)
        trusted = await _ask_about_project(conversation, queue)
        if extensions is None or not conversation.services.config.installed_extensions:
            return False
        return await _ask_about_more(extensions, queue) or trusted


async def _ask_about_project(conversation: Conversation, queue: QuestionQueue) -> bool:
    """One question about all extensions, MCP servers and hooks; true if an extension was trusted."""
    hosts = (mcp_host(conversation), extension_host(conversation), hook_host(conversation))
    found = await list_untrusted(hosts)
    items = tuple(item for _, listed in found for item in listed)
    answer = await queue.ask(TrustQuestion(items)) if items else "skip"
    if answer == "skip":
        return False
    await trust_all(found, save=answer == "trust")
    return any(item.kind == "extension" for item in items)


async def _ask_about_more(host: ExtensionHost, queue: QuestionQueue) -> bool:
    if not (host.home / LOCK).exists():  # nothing was ever granted
        return False
    from zot.features.extensions.loader.lock_file import find_permission_changes, grant

    found = await asyncio.to_thread(find_permission_changes, host.home)
    answer = await queue.ask(GrantQuestion(tuple(found))) if found else "skip"
    for extension in found if answer == "trust" else ():
        if extension.guard:
            host.require_guard(extension.directory)
        try:
            await asyncio.to_thread(grant, host.home, extension)
        except (ExtensionError, ConfigError, OSError) as error:
            host.diagnostics.note(
                f"extension {extension.name}: its permissions were not granted: {describe_error(error)}"
            )
    return answer == "trust"

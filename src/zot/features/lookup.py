"""Find the features of a conversation without importing their packages: most runs have few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.budget.feature import BudgetFeature
    from zot.features.checkpoints.change_recorder import FileChangeRecorder
    from zot.features.checkpoints.feature import CheckpointsFeature
    from zot.features.extensions.feature import ExtensionsFeature
    from zot.features.extensions.host import ExtensionHost
    from zot.features.hooks.feature import HooksFeature
    from zot.features.hooks.host import HookHost
    from zot.features.jail.feature import JailFeature
    from zot.features.mcp.feature import McpFeature
    from zot.features.mcp.host import McpHost
    from zot.features.permissions.feature import PermissionsFeature, SavedRules
    from zot.features.rules.feature import RulesFeature
    from zot.features.skills.feature import SkillsFeature


def jail(conversation: Conversation) -> JailFeature | None:
    return cast("JailFeature | None", conversation.features.named("jail"))


def asks_outside(conversation: Conversation) -> bool:
    """Whether the user is asked before a call reaches outside the jail."""
    feature = jail(conversation)
    return feature is not None and feature.asks_outside


def checkpoints(conversation: Conversation) -> CheckpointsFeature | None:
    return cast("CheckpointsFeature | None", conversation.features.named("checkpoints"))


def change_recorder(conversation: Conversation) -> FileChangeRecorder | None:
    """Records what tools change; None if nothing is recorded."""
    conversation.features.change_recorder(conversation)  # imports the feature only if used
    feature = checkpoints(conversation)
    return feature.recorder if feature is not None else None


def budget(conversation: Conversation) -> BudgetFeature | None:
    return cast("BudgetFeature | None", conversation.features.named("budget"))


def mcp(conversation: Conversation) -> McpFeature | None:
    return cast("McpFeature | None", conversation.features.named("mcp"))


def mcp_host(conversation: Conversation) -> McpHost | None:
    feature = mcp(conversation)
    return feature.host if feature is not None else None


def hook_host(conversation: Conversation) -> HookHost | None:
    feature = cast("HooksFeature | None", conversation.features.named("hooks"))
    return feature.host if feature is not None else None


def saved_rules(conversation: Conversation) -> SavedRules | None:
    """The saved permission answers; None if this run asks nothing."""
    feature = cast("PermissionsFeature | None", conversation.features.named("permissions"))
    return feature.saved_rules if feature is not None else None


def rules(conversation: Conversation) -> RulesFeature | None:
    """The permission rules; None if no file has any."""
    return cast("RulesFeature | None", conversation.features.named("rules"))


def skills(conversation: Conversation) -> SkillsFeature | None:
    return cast("SkillsFeature | None", conversation.features.named("skills"))


def extension_host(conversation: Conversation) -> ExtensionHost | None:
    feature = cast("ExtensionsFeature | None", conversation.features.named("extensions"))
    return feature.host if feature is not None else None

"""The ordered table of features: name, class, and a cheap test whether a run needs it.
Features join in this order, which is also that of their interceptors and subscribers; they are closed in reverse.
The module of a feature is imported only if its test is true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from zot.agent.feature import Feature, PromptDraft
from zot.agent.services import Services
from zot.core.events import AgentEvent, TurnStart
from zot.errors import ConfigError
from zot.system.files import is_missing, read_bytes, user_home

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.tools.workspace import ChangeRecorder

    from zot.agent.session_change import SessionChange  # isort: skip
    from zot.agent.user_shell import ShellDraft  # isort: skip
    from zot.agent.conversation import Conversation  # isort: skip

F = TypeVar("F", bound="Feature")


class FeatureRow(NamedTuple):
    """``early``: prepared before the conversation; ``depends_on_model``: tested again if the model changes.
    The others join a feature later: at the first prompt that begins with ``prompt_prefix`` or contains
    ``prompt_part``, the first of its ``ops``, the ``first_event`` of a kind, the first file change by a tool, the first
    background job, or when one of its ``on_demand`` tools is activated (``agent/tool_set.py``): names and
    summaries, which the model reads. A summary that equals the name is left out; a tool without one is activated by
    its feature."""

    name: str
    target: str
    is_wanted: Callable[[Services], bool]
    early: bool = False
    depends_on_model: bool = False
    prompt_prefix: str = ""
    ops: tuple[str, ...] = ()
    first_event: type[AgentEvent] | None = None
    records_changes: bool = False
    on_demand: Mapping[str, str] = {}
    follows_jobs: bool = False
    prompt_part: str = ""

    def load(self) -> type[Feature]:
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


# --- the tests


def _never(services: Services) -> bool:
    return False


def _wants_fallback(services: Services) -> bool:
    return bool(services.config.fallback_model)


def _wants_model_roles(services: Services) -> bool:
    return bool(services.settings.values.models)


def _wants_more_tools(services: Services) -> bool:
    return services.config.tools is None and any(row.on_demand for row in FEATURES)


def _wants_editor_terminal(services: Services) -> bool:
    return services.front_end.run_command is not None and services.settings.values.editor_terminal


def _wants_telemetry(services: Services) -> bool:
    return bool(services.config.telemetry) or services.settings.values.telemetry.is_on(services.environ)


def _wants_limits(services: Services) -> bool:
    """Where a limit is set, may be set while it runs, or comes back with the session."""
    config, values = services.config, services.settings.values
    named = config.permission_mode or config.jail or values.permission_mode or values.jail_by_default
    return bool(named or services.resumed is not None or services.front_end.switches)


def _wants_recording(services: Services) -> bool:
    return bool(services.config.record or services.config.ext_trace)


def _wants_jail(services: Services) -> bool:
    config, values = services.config, services.settings.values
    flags = (config.jail, config.jail_read, config.jail_write, config.jail_level, config.approve)
    needed = any(flags) or values.jail_by_default or values.ask_outside or services.front_end.switches
    return needed or services.workspace.jail is not None  # the safeguards of a small model may have set one


def _wants_checkpoints(services: Services) -> bool:
    """From the start in the terminal, which shows the changes of a turn."""
    return services.front_end.switches


def _wants_budget(services: Services) -> bool:
    """The ledger is not needed before the first model call, unless a limit is set."""
    config, values = services.config, services.settings.values
    return bool(config.max_cost or values.max_cost_session or values.max_cost_day) or services.front_end.switches


def _wants_mcp(services: Services) -> bool:
    config, home, cwd = services.config, services.home, services.project
    files = (home / "mcp.json", home / "plugins.json", cwd / ".mcp.json", cwd / ".zot" / "mcp.json")
    return config.tools != () and bool(config.mcp_config or (config.mcp and not all(map(is_missing, files))))


def _wants_local_model(services: Services) -> bool:
    resolved = services.resolved
    return bool(resolved.model.tool_calls or resolved.tool_support_unknown or resolved.provider.local)


def _wants_hooks(services: Services) -> bool:
    if services.config.required_hooks:
        return True
    if not services.settings.values.hooks:
        return False
    home, cwd = services.home, services.project
    own = (home / "hooks.json", cwd / ".zot" / "hooks.json", home / "plugins.json")
    claude = (cwd / ".claude" / "settings.json", cwd / ".claude" / "settings.local.json")
    return not all(map(is_missing, own)) or any(
        _contains(path, b'ooks"') for path in (*claude, user_home() / ".claude" / "settings.json")
    )


def _wants_rules(services: Services) -> bool:
    home, cwd = services.home, services.project
    if services.config.required_rules or services.settings.values.permissions:
        return True
    if not is_missing(cwd / ".zot" / "settings.json"):
        return True
    claude = (cwd / ".claude" / "settings.json", cwd / ".claude" / "settings.local.json")
    files = (home / "config.json", user_home() / ".claude" / "settings.json", *claude)
    return any(not path.is_dir() and _contains(path, b'"permissions"') for path in files)


def _contains(path: Path, word: bytes) -> bool:
    """Also true for an unreadable file: the feature reports the error."""
    try:
        return word in (read_bytes(path) or b"").replace(b" ", b"")
    except ConfigError:
        return True


def _wants_front_end(services: Services) -> bool:
    return bool(services.front_end.tools or services.front_end.interceptors)


def _wants_permissions(services: Services) -> bool:
    config = services.config
    mode = config.permission_mode or services.settings.values.permission_mode or services.constrained_mode
    return mode not in ("", "everything") or bool(config.permission_limit) or services.front_end.switches


def _wants_extensions(services: Services) -> bool:
    config, home, cwd = services.config, services.home, services.project
    if config.required_guards:
        return True
    if config.ext or not config.installed_extensions:
        return bool(config.ext)
    # guards.json and trust.json name guards; a missing one denies all calls
    files = (cwd / ".zot" / "extensions", home / "extensions", home / "guards.json")
    return not all(map(is_missing, files)) or _names_guard(home / "trust.json")


def _names_guard(path: Path) -> bool:
    """Also true for an unreadable file: extensions are not started without knowing their guards."""
    if is_missing(path):
        return False
    try:
        msgspec.json.decode(read_bytes(path) or b"{}")
    except (ConfigError, msgspec.DecodeError, UnicodeError, RecursionError):
        return True
    return _contains(path, b'"guard":true')


def _wants_plugins(services: Services) -> bool:
    return not is_missing(services.home / "plugins.json")


def _wants_skills(services: Services) -> bool:
    return services.config.skills


def _wants_swarm(services: Services) -> bool:
    """Named in ``--tools``, or enabled in the settings, which may change while a terminal is open."""
    named, values = services.config.tools, services.settings.values
    enabled = values.model_can_start_agents or "swarm" in values.tools or services.front_end.switches
    return enabled if named is None else "swarm" in named


def _wants_todo(services: Services) -> bool:
    """Where a session with a list may be continued; its command lets it join elsewhere."""
    return services.front_end.switches or services.resumed is not None


def _wants_plans(services: Services) -> bool:
    named = services.config.tools
    return (named is None or "present_plan" in named) and _wants_permissions(services)


def _wants_answer_schema(services: Services) -> bool:
    return bool(services.config.output_schema)


def _wants_model_refresh(services: Services) -> bool:
    """With ``--base-url`` or its variable the provider's model list is not requested."""
    resolved = services.resolved
    return not (services.config.base_url or resolved.base_url_from) and resolved.endpoint is not None


FEATURES = (
    FeatureRow("limits", "zot.features.limits:LimitsFeature", _wants_limits, early=True),
    FeatureRow("recording", "zot.features.recording.feature:RecordingFeature", _wants_recording, early=True),
    FeatureRow("jail", "zot.features.jail.feature:JailFeature", _wants_jail, early=True, depends_on_model=True),
    FeatureRow(
        "checkpoints",
        "zot.features.checkpoints.feature:CheckpointsFeature",
        _wants_checkpoints,
        ops=("get_changes", "rewind"),
        records_changes=True,
    ),
    FeatureRow("budget", "zot.features.budget.feature:BudgetFeature", _wants_budget, first_event=TurnStart),
    FeatureRow("mcp", "zot.features.mcp.feature:McpFeature", _wants_mcp),
    FeatureRow("templates", "zot.features.templates.feature:TemplatesFeature", _never, prompt_prefix="/"),
    FeatureRow("local_model", "zot.local_model.feature:LocalModelFeature", _wants_local_model, depends_on_model=True),
    FeatureRow("hooks", "zot.features.hooks.feature:HooksFeature", _wants_hooks),
    FeatureRow("rules", "zot.features.rules.feature:RulesFeature", _wants_rules),
    FeatureRow("front_end", "zot.features.front_end:FrontEndFeature", _wants_front_end),
    FeatureRow("permissions", "zot.features.permissions.feature:PermissionsFeature", _wants_permissions),
    FeatureRow("plan", "zot.features.plan.feature:PlanFeature", _wants_plans),
    FeatureRow(
        "ask_user",
        "zot.features.ask_user.feature:AskUserFeature",
        _never,
        on_demand={"ask_user": "ask the user, with choices"},
    ),
    FeatureRow(
        "todo",
        "zot.features.todo.feature:TodoFeature",
        _wants_todo,
        prompt_prefix="/",
        on_demand={"todo": "list of steps the user sees"},
    ),
    FeatureRow("extensions", "zot.features.extensions.feature:ExtensionsFeature", _wants_extensions, early=True),
    FeatureRow("plugins", "zot.features.plugins.feature:PluginsFeature", _wants_plugins),
    FeatureRow("skills", "zot.features.skills.feature:SkillsFeature", _wants_skills),
    FeatureRow("swarm", "zot.swarm.feature:SwarmFeature", _wants_swarm),
    FeatureRow("editor_terminal", "zot.features.editor_terminal:EditorTerminalFeature", _wants_editor_terminal),
    FeatureRow("telemetry", "zot.features.telemetry.feature:TelemetryFeature", _wants_telemetry),
    FeatureRow("model_refresh", "zot.features.model_refresh:ModelRefreshFeature", _wants_model_refresh),
    FeatureRow(
        "web",
        "zot.features.web.feature:WebFeature",
        _never,
        on_demand={"web_fetch": "web_fetch", "web_search": "web_search"},  # the names say it
    ),
    FeatureRow(
        "jobs",
        "zot.features.jobs.feature:JobsFeature",
        _never,
        prompt_prefix="/",
        on_demand={"jobs": ""},
        follows_jobs=True,
    ),
    FeatureRow("answer_schema", "zot.features.answer_schema:AnswerSchemaFeature", _wants_answer_schema, early=True),
    FeatureRow(
        "agents",
        "zot.features.agents.feature:AgentsFeature",
        _never,
        prompt_prefix="/",
        prompt_part="@agent-",
        on_demand={"agent": "delegate a task to a sub-agent"},
    ),
    FeatureRow("more_tools", "zot.features.more_tools:MoreToolsFeature", _wants_more_tools),
    FeatureRow("fallback", "zot.features.fallback:FallbackFeature", _wants_fallback),
    FeatureRow("model_roles", "zot.features.model_roles:ModelRolesFeature", _wants_model_roles),
    FeatureRow(
        "state",
        "zot.features.conversation_state:StateFeature",
        _never,
        ops=("get_state", "get_messages", "get_models", "get_mcp_servers"),
    ),
)


def prepare_features(services: Services) -> None:
    """Prepare early features; ZotError names the wrong flag."""
    for row in FEATURES:
        if row.early and row.is_wanted(services):
            row.load().prepare(services)


class FeatureSet:
    """The features of one conversation, in table order."""

    def __init__(self) -> None:
        self.started = False
        self._joined: dict[str, Feature] = {}

    def __iter__(self) -> Iterator[Feature]:
        return iter(list(self._joined.values()))  # a feature may join meanwhile

    def join_all(self, conversation: Conversation) -> None:
        for row in FEATURES:
            if self._join(row, conversation) is None and row.first_event is not None:
                self._join_after(row, conversation)
        conversation.toolset.join_named()
        self.join_for_model(conversation)
        conversation.workspace.recorder = lambda: self.change_recorder(conversation)
        conversation.workspace.job_started = lambda: self.join_for_job(conversation)

    def _join_after(self, row: FeatureRow, conversation: Conversation) -> None:
        """Join soon after the first event of a kind, without delaying the events after it."""
        assert row.first_event is not None

        def join_soon(event: AgentEvent) -> None:
            unsubscribe()
            asyncio.get_running_loop().call_soon(self._join, row, conversation, True)

        unsubscribe = conversation.subscribe(join_soon, row.first_event)

    def change_recorder(self, conversation: Conversation) -> ChangeRecorder | None:
        """Observer of file changes; the first change lets its feature join."""
        for row in FEATURES:
            if row.records_changes:
                self._join(row, conversation, now=True)
        return next((each.recorder for each in self if each.recorder is not None), None)

    def join_for_prompt(self, conversation: Conversation, text: str) -> None:
        """Let features that this prompt needs join."""
        for row in FEATURES:
            begins = row.prompt_prefix and text.startswith(row.prompt_prefix)
            if begins or (row.prompt_part and row.prompt_part in text):
                self._join(row, conversation, now=True)

    def join_for_op(self, conversation: Conversation, tag: str) -> Feature | None:
        """The feature that handles this op, or None."""
        row = next((row for row in FEATURES if tag in row.ops), None)
        return None if row is None else self._join(row, conversation, now=True)

    def join_for_tool(self, conversation: Conversation, name: str) -> Feature | None:
        """The feature that has this on-demand tool, or None."""
        row = next((row for row in FEATURES if name in row.on_demand), None)
        return None if row is None else self._join(row, conversation, now=True)

    def join_for_job(self, conversation: Conversation) -> bool:
        """The first background job lets its feature join, with its tool; true if the model has that tool."""
        names = [name for row in FEATURES if row.follows_jobs for name in row.on_demand]
        for row in FEATURES:
            if row.follows_jobs:
                self._join(row, conversation, now=True)
        conversation.toolset.activate(names)
        return any(name in conversation.agent.toolbox for name in names)

    def join_for_model(self, conversation: Conversation) -> None:
        """Let features that the current model needs join."""
        for row in FEATURES:
            if row.depends_on_model:
                self._join(row, conversation)

    async def join_late(self, conversation: Conversation, kind: type[F]) -> F | None:
        """Join a feature whose test is true by now, or return None."""
        row = next(row for row in FEATURES if row.name == kind.name)
        if row.name not in self._joined and (joined := self._join(row, conversation)) is not None:
            await joined.start()
        return self.get(kind)

    def _join(self, row: FeatureRow, conversation: Conversation, now: bool = False) -> Feature | None:
        """``now``: ignore its test."""
        if row.name in self._joined:
            return self._joined[row.name]
        if not now and not row.is_wanted(conversation.services):
            return None
        feature = self._joined[row.name] = row.load()(conversation)
        order = {row.name: place for place, row in enumerate(FEATURES)}
        self._joined = dict(sorted(self._joined.items(), key=lambda item: order[item[0]]))
        feature.join()
        return feature

    def add(self, feature: Feature) -> None:
        """Add a feature inherited by a side conversation."""
        self._joined[feature.name] = feature

    def get(self, kind: type[F]) -> F | None:
        found = self._joined.get(kind.name)
        return found if isinstance(found, kind) else None

    def named(self, name: str) -> Feature | None:
        return self._joined.get(name)

    def mentions(self, conversation: Conversation) -> list[tuple[str, str]]:
        """What ``@`` may name in a prompt besides files."""
        for row in FEATURES:
            if row.prompt_part.startswith("@"):
                self._join(row, conversation, now=True)
        return [each for feature in self.implementing("mentions") for each in feature.mentions()]

    def implementing(self, method: str) -> list[Feature]:
        """Features that override this method of ``Feature``."""
        return [each for each in self if getattr(type(each), method) is not getattr(Feature, method)]

    def before_prompt(self, draft: PromptDraft) -> Coroutine[Any, Any, str] | None:
        """Ask features in order until one denies or handles the prompt; None if none overrides it."""
        first = [(each.on_input, draft) for each in self.implementing("on_input")]
        then = [(each.before_prompt, draft) for each in self.implementing("before_prompt")]
        return _first((*first, *then), lambda: draft.handled)

    def before_compaction(self, focus: str) -> Coroutine[Any, Any, str] | None:
        return _first((each.before_compaction, focus) for each in self.implementing("before_compaction"))

    async def on_shell(self, draft: ShellDraft) -> str:
        """Ask features in order until one denies or runs it."""
        asked = [(each.on_shell, draft) for each in self if each.reviews_shell]
        return await (_first(asked, lambda: bool(draft.handled)) or _nothing())

    async def before_session_change(self, change: SessionChange) -> str:
        """Ask features in order until one denies it."""
        asked = [(each.before_session_change, change) for each in self if each.reviews_session_changes]
        return await (_first(asked) or _nothing())

    def answer_problem(self) -> str:
        """Why the last answer cannot be used, for front ends that end with it; empty if it can."""
        return next((problem for each in self if (problem := each.answer_problem())), "")

    async def wait_for_results(self) -> str:
        """The next prompt that features submit, for front ends that end with the answer; empty if none."""
        return await (_first((each.wait_for_results,) for each in self) or _nothing())


def _first(
    questions: Iterable[tuple[Any, ...]], is_over: Callable[[], bool] | None = None
) -> Coroutine[Any, Any, str] | None:
    """The first non-empty answer; ``is_over`` ends the questions."""
    calls = list(questions)

    async def first_answer() -> str:
        for question, *values in calls:
            if (answer := await question(*values)) or (is_over is not None and is_over()):
                return answer
        return ""

    return first_answer() if calls else None


async def _nothing() -> str:
    return ""

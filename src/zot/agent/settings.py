"""``config.json``: every setting with its type, default and meaning (``Values``).
A wrong value is ignored and reported (a guard becomes strict); saving keeps unknown keys and moves an unparsable
file to ``config.json.bad``."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from zot.errors import ConfigError, closest_match
from zot.provider.auth.auth_store import KeyCommand
from zot.provider.model import REASONING_LEVELS, Reasoning
from zot.system.files import quarantine_file, read_bytes
from zot.system.json_store import JsonObjectStore

_Dollars = Annotated[float, Meta(ge=0)]
_Seconds = Annotated[float, Meta(gt=0)]
_LIMITS = ("max_cost_session", "max_cost_day", "extension_max_cost")
_NO_AMOUNT = -1.0  # values of invalid limits: nothing is spent until they are fixed
_WORDS = {
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
# Strict defaults for settings that cannot be read.
_GUARDS: dict[str, Any] = {
    "permission_mode": "ask",
    "start_mode": "ask",
    "jail_by_default": True,
    "hooks_strict": True,
    **dict.fromkeys(_LIMITS, _NO_AMOUNT),
    "extension_denied": {"*": ("*",)},
}
_OLDER = {
    "approve": "ask_outside",
    "keep_changes_mb": "checkpoint_size_mb",
    "auto_swarm_enabled": "model_can_start_agents",
}
_LEVEL_ALIASES = {"minimal": "minimum", "maximum": "max"}


class ExtensionIndex(msgspec.Struct, frozen=True):
    """An index of extensions; ``key`` is the pinned public key, in base64."""

    url: str
    key: str = ""


class WebSearchSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The engine of ``web_search``; ``key_env`` names the variable of its key, ``url`` its address."""

    engine: Literal["", "provider", "brave", "tavily", "exa", "kagi", "searxng"] = ""
    key_env: str = ""
    url: str = ""


_OTLP_ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{signal}ENDPOINT" for signal in ("", "TRACES_", "METRICS_"))


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``endpoint`` is the address of an OTLP/HTTP collector; ``content`` adds prompts, answers and arguments."""

    endpoint: str = ""
    content: bool = False
    enabled: bool = True

    def is_on(self, environ: Mapping[str, str]) -> bool:
        """True if this or a standard variable names a collector, and nothing disables it."""
        if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or not self.enabled:
            return False
        return bool(self.endpoint or any(environ.get(name) for name in _OTLP_ENDPOINTS))


class SettingsValues(msgspec.Struct, frozen=True, kw_only=True):
    """The settings; the descriptions are used in the reference page."""

    provider: Annotated[str, Meta(description="Provider used when `--provider` is not given.")] = ""
    model: Annotated[str, Meta(description="Model used when `--model` is not given.")] = ""
    reasoning: Annotated[
        Reasoning,
        Meta(description="How hard the model thinks: `off`, `minimum`, `low`, `medium`, `high`, `xhigh`, `max`."),
    ] = ""
    show_thinking: Annotated[
        Literal["folded", "open", "off"],
        Meta(
            description="Display of a model's thinking: `folded` shows it while it arrives and then one line (ctrl+o "
            "opens it), `open` keeps it, `off` hides it, also in `--stream`."
        ),
    ] = "folded"
    temperature: Annotated[
        float | None, Meta(description="Sampling temperature, 0 to 2; if absent, the provider's default.")
    ] = None
    permission_mode: Annotated[
        Literal["", "plan", "ask", "accept-edits", "everything"],
        Meta(description="Default permission mode: `plan`, `ask`, `accept-edits` or `everything` (if absent)."),
    ] = ""
    permissions: Annotated[
        dict[str, Any],
        Meta(
            description="Permission rules in the lists `allow`, `ask` and `deny`, for every project: "
            '`{"deny": ["Read(~/.ssh/**)"], "allow": ["Bash(npm test:*)"]}`. See `zot docs permission-rules`.'
        ),
    ] = {}
    tools: Annotated[
        tuple[str, ...],
        Meta(
            description="Tools offered from the first request on, in addition to the default set: `swarm`, and tools "
            "that the model otherwise enables itself when it needs them, such as `web_fetch`."
        ),
    ] = ()
    tools_off: Annotated[
        tuple[str, ...],
        Meta(description="Tools that the model never gets, by name, unless `--tools` names them."),
    ] = ()
    model_can_start_agents: Annotated[
        bool,
        Meta(description="The model may start background agents (the tools of the group `swarm`)."),
    ] = False
    auto_compact_threshold: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | Literal["off"],
        Meta(description="Percent of the context window at which the transcript is compacted; `off` or 0 for never."),
    ] = 85
    bash_timeout_s: Annotated[_Seconds, Meta(description="Default timeout of a bash command in seconds.")] = 120
    bash_timeout_max_s: Annotated[
        _Seconds, Meta(description="The longest timeout in seconds that a model can set for a bash command.")
    ] = 600
    jobs_start_turns: Annotated[
        bool,
        Meta(
            description="A background job that ends, or a pattern the model watches for, starts a turn while zot waits "
            "for your input (in the terminal and RPC). Otherwise the model reads about it with your next prompt."
        ),
    ] = False
    env_passthrough: Annotated[
        tuple[str, ...],
        Meta(
            description="Secret variables that child processes may see, by name or pattern (`AWS_*`). Others are "
            "removed: those of model providers and of zot, which no pattern matches, and variables that "
            "look like a secret of another service (`GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, "
            "`*_PASSWORD`). In the jail also any other variable that commands need."
        ),
    ] = ()
    jail_by_default: Annotated[bool, Meta(description="Start every run in the jail, as `--jail` does.")] = False
    start_mode: Annotated[
        Literal["", "jailed", "ask", "everything"],
        Meta(
            description="How the interactive mode starts; it asks once if absent. `jailed`: tools run freely, confined "
            "to the project; `ask`: zot asks before it acts; `everything`: all runs unasked. `permission_mode`, "
            "`jail_by_default`, flags and the limits of a resumed session take precedence."
        ),
    ] = ""
    jail_roots: Annotated[
        tuple[str, ...], Meta(description="Directories that jailed commands may change in addition to the project.")
    ] = ()
    ask_outside: Annotated[
        bool,
        Meta(description="In the jail, ask before a call reaches outside; `--ask-outside` also starts the jail."),
    ] = False
    question_timeout_s: Annotated[
        float,
        Meta(
            ge=0,
            description="Seconds after which a question of the model (`ask_user`) or a presented plan goes on without "
            "an answer; 0 waits for the user.",
        ),
    ] = 0
    api_key_command: Annotated[
        dict[str, KeyCommand],
        Meta(
            description="By provider id, a program that prints its key: "
            '`{"openai": {"program": "op", "args": ["read", "…"], "timeout_ms": 120000}}`.'
        ),
    ] = {}
    credential_store: Annotated[
        Literal["file", "keyring"],
        Meta(
            description="Where a login stores its secret: in `auth.json`, which only you can read, or in the "
            "system's keyring (requires the extra `zot-agent[keyring]`). Stored logins are not moved."
        ),
    ] = "file"
    silence_s: Annotated[
        _Seconds | dict[str, _Seconds] | None,
        Meta(
            description="Seconds without an event after which an answer counts as lost: one number, or one per "
            "provider id. If absent: 300, and 900 for servers on this machine."
        ),
    ] = None
    retries: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)],
        Meta(
            description="Retries of a model call if the provider is overloaded, limits the rate or cannot be "
            "reached, or the answer breaks off before its first word; 0 for none. The default makes ten "
            "attempts within about three minutes."
        ),
    ] = 9
    retry_wait_s: Annotated[
        _Seconds,
        Meta(
            description="Seconds before the first retry. Each later wait is twice as long, up to a minute; a longer "
            "`Retry-After` of the provider is used, up to three minutes."
        ),
    ] = 0.5
    cache_lifetime: Annotated[
        Literal["short", "long"],
        Meta(
            description="How long the provider keeps the prompt in its cache. `long` is an hour for Claude, where "
            "writing to the cache then costs twice the input price, and up to a day for OpenAI. Use it if you pause "
            "for longer than five minutes."
        ),
    ] = "short"
    service_tier: Annotated[
        dict[str, str],
        Meta(
            description="By provider id, how requests are served: `flex` is slower at half the price, `priority` "
            "faster at twice the price (OpenAI, Google, Bedrock); `standard_only` for Anthropic. "
            '`{"openai": "flex"}`.'
        ),
    ] = {}
    max_cost_session: Annotated[
        _Dollars,
        Meta(
            description="Cost limit of one session in US dollars without `--max-cost`; a request that would exceed "
            "it is not made. 0 for no limit."
        ),
    ] = 0
    max_cost_day: Annotated[
        _Dollars,
        Meta(description="Cost limit of all runs on one day (local time) in US dollars; 0 for no limit."),
    ] = 0
    web_search: Annotated[
        WebSearchSetting,
        Meta(
            description='How `web_search` searches: `{"engine": "brave"}` with its key in `BRAVE_API_KEY` or in the '
            "variable that `key_env` names (also `tavily`, `exa`, `kagi`), or a SearXNG address: "
            '`{"engine": "searxng", "url": "http://localhost:8080"}`. Without it, or with `provider`, the provider '
            "searches if it can."
        ),
    ] = WebSearchSetting()
    web_allow_private: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts, addresses and networks that `web_fetch` may reach although they are not public: "
            '`["localhost", "*.corp.example", "10.0.0.0/8"]`.'
        ),
    ] = ()
    web_timeout_s: Annotated[_Seconds, Meta(description="Timeout in seconds of one `web_fetch` or search.")] = 30
    http_proxy: Annotated[
        str, Meta(description="Proxy for all requests; the proxy variables of the environment take precedence.")
    ] = ""
    insecure: Annotated[
        bool,
        Meta(description="Skip TLS checks, only for your own addresses (`--base-url`, `models.json`)."),
    ] = False
    swarm_agents: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        Meta(description="Number of `zot swarm` workers that run at the same time; others wait."),
    ] = 4
    checkpoint_size_mb: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(
            description="Megabytes in `$ZOT_HOME/changes` for file contents from before the agent changed them, for "
            "`/rewind` and `/diff`; the oldest are deleted first, all after 30 days. 0 stores nothing."
        ),
    ] = 512
    extension_tool_timeout_s: Annotated[
        _Seconds,
        Meta(description="Seconds that a tool of an extension may be silent; its progress reports start them again."),
    ] = 60
    extension_tool_max_s: Annotated[_Seconds, Meta(description="Longest run of an extension's tool in seconds.")] = 3600
    extension_max_cost: Annotated[
        _Dollars,
        Meta(
            description="Cost limit of one extension's model calls and agents in one session, in US dollars; 0 for no "
            "limit. `max_cost_session` and `max_cost_day` count them also."
        ),
    ] = 1.0
    extensions: Annotated[
        dict[str, dict[str, Any]], Meta(description="Settings of extensions, by name; each extension declares its own.")
    ] = {}
    extension_denied: Annotated[
        dict[str, tuple[str, ...]],
        Meta(description="Words of `uses` that extensions do not get, by name (`zot ext deny`)."),
    ] = {}
    ext_indexes: Annotated[
        tuple[ExtensionIndex, ...],
        Meta(description="Indexes that extensions are installed from by name, with pinned keys (`zot ext index add`)."),
    ] = ()
    hooks: Annotated[
        bool,
        Meta(
            description="Run hooks: those of `hooks.json`, and of Claude Code's settings files after you trusted them."
        ),
    ] = True
    hooks_strict: Annotated[
        bool,
        Meta(
            description="Deny a tool call if its `PreToolUse` hook crashed or timed out; otherwise it runs with a "
            'notice. `"strict": true` in a hook does the same for that hook.'
        ),
    ] = False
    mcp_pinned: Annotated[
        tuple[str, ...],
        Meta(
            description="MCP servers (by name) and tools (`mcp__server__tool`) that are always described to the "
            "model in full; others are found with `mcp_search`. `*` means all."
        ),
    ] = ()
    mcp_tool_timeout_s: Annotated[
        _Seconds, Meta(description="Timeout in seconds of an MCP call without progress messages.")
    ] = 300
    catalog_url: Annotated[
        str,
        Meta(
            description="An https address of a model list with windows and prices, requested during a prompt if "
            "`$ZOT_HOME/catalog.json` is six hours old. Without it you can write that file yourself."
        ),
    ] = ""
    model_names: Annotated[
        dict[str, str],
        Meta(
            description="Your own names for models, for every place that takes a model (`--model`, `/model`): "
            '`{"fast": "claude-haiku-5-5", "smart": "openai/gpt-6.1-sol"}`.'
        ),
    ] = {}
    models: Annotated[
        dict[Literal["small", "plan", "compact"], str],
        Meta(
            description="Models for other work: `plan` for plan mode, `compact` for summaries of long conversations, "
            '`small` for summaries without `compact` and other short work: `{"compact": "claude-haiku-5-5"}`.'
        ),
    ] = {}
    quick_model_shortcuts: Annotated[
        dict[str, str],
        Meta(description='Models on ctrl+1 to ctrl+9, by digit: `{"1": "anthropic/claude-sonnet-5-5"}`.'),
    ] = {}
    keymap: Annotated[
        dict[str, str],
        Meta(
            description='Your own keys, each for a slash command: `{"alt+m": "/model"}`. A key has ctrl, alt, shift '
            "or cmd; `ctrl+c`, `ctrl+d` and `esc` keep their meaning."
        ),
    ] = {}
    vi_mode: Annotated[bool, Meta(description="Edit the prompt with vi keys; it starts in insert mode.")] = False
    theme: Annotated[str, Meta(description="Colour theme of the interactive mode.")] = ""
    inline_images_enabled: Annotated[
        bool | None, Meta(description="Show images in the terminal; if absent, it depends on the terminal.")
    ] = None
    terminal_title: Annotated[
        bool,
        Meta(
            description="Show the project in the terminal's window title; `…` in front: working, `?`: waiting for you."
        ),
    ] = True
    bell: Annotated[
        Literal["on", "quiet", "off"],
        Meta(
            description="Notification after a long turn, or if a question is waiting: `on` rings and notifies the "
            "desktop if the terminal can, `quiet` only notifies, `off` does neither."
        ),
    ] = "on"
    notify_after_s: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Ring the bell at the end of a turn that took at least this many seconds; 0 for never."),
    ] = 15
    status_command: Annotated[
        str,
        Meta(
            description="A shell command whose first output line is shown under the status bar. It gets the state as "
            "JSON on stdin and two seconds. Only this file can set it, never a project."
        ),
    ] = ""
    status_command_every_s: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Also run `status_command` after this many seconds; 0: only after events."),
    ] = 0
    editor_terminal: Annotated[
        bool,
        Meta(
            description="With `zot acp`, run commands in terminals of the editor, if it has them. They run with the "
            "editor's rights and its environment; jailed commands never do."
        ),
    ] = False
    telemetry: Annotated[
        TelemetrySettings,
        Meta(
            description="Traces and metrics over OpenTelemetry: `endpoint` is the address of an OTLP/HTTP collector "
            "(else `OTEL_EXPORTER_OTLP_ENDPOINT`), `content` adds prompts, answers and arguments with secrets removed, "
            "`enabled: false` ignores the variables."
        ),
    ] = TelemetrySettings()
    update_url: Annotated[
        str, Meta(description="Address of a release feed; without it zot never checks for updates.")
    ] = ""
    last_changelog_shown: Annotated[
        str, Meta(description="The version whose changes were shown last; written by zot.")
    ] = ""

    @property
    def auto_compact_percent(self) -> int:
        """The threshold as a number; 0 means off."""
        return 0 if self.auto_compact_threshold == "off" else self.auto_compact_threshold

    def silence_for(self, provider: str) -> float | None:
        """The configured silence limit of a provider, if any."""
        return self.silence_s.get(provider) if isinstance(self.silence_s, dict) else self.silence_s


class Settings:
    """The file, read once. ``values`` are the valid settings, ``problems`` one line per wrong one."""

    def __init__(self, home: Path) -> None:
        self.problems: list[str] = []
        self._file = _SettingsFile(home / "config.json", self.problems)
        self.path = self._file.path
        self.values = SettingsValues()
        try:
            self.values = _values(self.path, self._file.load(), self.problems)
        except ConfigError as error:
            self.problems.append(f"{error}; until it is fixed, zot uses default settings and asks before it acts")
            guards: dict[str, Any] = {**self._file.guards(), "permission_mode": "ask"}
            self.values = SettingsValues(**guards)

    def save(self, **changes: Any) -> None:
        """Write the named keys; None removes one. ConfigError for an unknown key, a bad value or a failed write."""
        changes = _current(changes)
        for key, value in changes.items():
            if key not in SettingsValues.__struct_fields__:
                raise ConfigError(f'{self.path}: no setting "{key}"')
            problems: list[str] = []
            if value is not None and not _sound(self.path, key, value, problems):
                raise ConfigError(problems[0].rpartition("; ")[0])
        with self._file.edit() as raw:
            raw.update(changes)
            replaced = {old for old, new in _OLDER.items() if new in changes}
            for key in [key for key, value in raw.items() if value is None or key in replaced]:
                del raw[key]
        self.values = _values(self.path, raw, [])

    def unknown_providers(self, known: Container[str]) -> list[str]:
        """One line per provider id that does not exist."""
        return [
            f'{self.path}: service_tier: unknown provider "{name}"; list them with zot auth'
            for name in self.values.service_tier
            if name not in known
        ]

    def near_misses(self) -> list[str]:
        """Keys that look like a mistyped setting. Unknown ones are kept, so only ``zot doctor`` reports them."""
        known = SettingsValues.__struct_fields__
        try:
            unknown = [key for key in self._file.load() if key not in known and key not in _OLDER]
        except ConfigError:
            return []  # already a problem
        close = {key: closest_match(key, known, likeness=0.8) for key in unknown}
        return [f"{self.path}: {key} is not a setting; did you mean {match}?" for key, match in close.items() if match]


class _SettingsFile(JsonObjectStore):
    skip_unchanged = False

    def __init__(self, path: Path, problems: list[str]) -> None:
        super().__init__(path)
        self._problems = problems

    def guards(self) -> dict[str, Any]:
        """Strict values for guards named in an unparsable file."""
        try:
            data = read_bytes(self.path) or b""
        except ConfigError:
            return {}
        return {key: value for key, value in _GUARDS.items() if key.encode() in data}

    def load_to_edit(self) -> dict[str, Any]:
        """Move an unparsable file aside. An unreadable file may be valid: it stays, and nothing is saved."""
        data, guards = read_bytes(self.path), self.guards()
        try:
            return {} if data is None else self.decode(data)
        except ConfigError:
            bad = quarantine_file(self.target)
            self._problems.append(f"cannot parse {self.path}: moved to {bad.name}, wrote a new one")
            return guards


def parse_reasoning(text: str) -> Reasoning | None:
    """Parse a level in any case (also ``minimal``, ``maximum``); None if unknown."""
    level = text.strip().lower()
    level = _LEVEL_ALIASES.get(level, level)
    return level if level in ("", *REASONING_LEVELS) else None


def _values(path: Path, raw: dict[str, Any], problems: list[str]) -> SettingsValues:
    if not raw:
        return SettingsValues()  # saves most starts the 2 ms of inspecting the types
    raw = _current(raw)
    if "permission_mode" in raw:
        raw = {**raw, "permission_mode": _permission_mode(path, raw["permission_mode"], problems)}
    if not isinstance(raw.get("jail_by_default", False), bool):
        problems.append(f"{path}: jail_by_default: expected true or false; true until it is fixed")
        raw = {**raw, "jail_by_default": True}
    if isinstance(level := raw.get("reasoning"), str) and (parsed := parse_reasoning(level)) is not None:
        raw = {**raw, "reasoning": parsed}
    try:
        return _checked(raw)
    except msgspec.ValidationError:
        sound = {key: value for key, value in raw.items() if _sound(path, key, value, problems)}
        strict = (*_LIMITS, "extension_denied")
        wrong = {key: _GUARDS[key] for key in strict if key in raw and key not in sound}
        return msgspec.structs.replace(_checked(sound), **wrong)


def _current(raw: dict[str, Any]) -> dict[str, Any]:
    """Rename older keys; a key with its current name wins. ``approve`` was ``"outside"`` or empty."""
    current = {key: value for key, value in raw.items() if key not in _OLDER}
    for old in _OLDER.keys() & raw.keys():
        value = raw[old]
        current.setdefault(_OLDER[old], value == "outside" if value in ("", "outside") else value)
    return current


def _permission_mode(path: Path, value: Any, problems: list[str]) -> str:
    """An invalid mode becomes ask."""
    from zot.core.permission_modes import MODES, parse_mode  # rarely set

    mode = parse_mode(value) if isinstance(value, str) else None
    if mode is None and value != "":
        problems.append(f"{path}: permission_mode: expected one of {', '.join(MODES)}; ask until it is fixed")
    return mode or ("" if value == "" else "ask")


def _checked(raw: dict[str, Any]) -> SettingsValues:
    values = msgspec.convert(raw, SettingsValues)
    if values.temperature is not None and not 0 <= values.temperature <= 2:
        raise msgspec.ValidationError("Expected a number from 0 to 2 - at `$.temperature`")
    return values


def _choices(where: str, value: str) -> str:
    """The values that a key allows; ``where`` is its path in an error: `$.web_search.engine`, `key` in `$.models`."""
    from msgspec import inspect  # rarely wrong

    path = where.rpartition("`$.")[2].strip("`").split(".")
    kind: Any = inspect.type_info(SettingsValues)
    for name in path:
        fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
        kind = fields.get(name.partition("[")[0])
        while isinstance(kind, inspect.Metadata):
            kind = kind.type
    if where.startswith("`key`"):
        kind = getattr(kind, "key_type", None)
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    allowed = ", ".join(str(each) for part in kinds for each in getattr(part, "values", ()) if each != "")
    inside = "".join(f"{name}: " for name in path[1:])
    return f"{inside}expected one of {allowed}, got {value}" if allowed else f"{inside}{value} is not allowed"


def _sound(path: Path, key: str, value: Any, problems: list[str]) -> bool:
    try:
        _checked({key: value})
    except msgspec.ValidationError as error:
        then = "no paid model call is made" if key in _LIMITS else "the key is ignored"
        then = "extensions get no word of `uses`" if key == "extension_denied" else then
        text, _, where = str(error).partition(" - at ")
        if text.startswith("Invalid enum value"):
            text = _choices(where, text.rpartition(" ")[2])
        for name, word in _WORDS.items():
            text = text.replace(f"`{name}`", word)
        reason = text[0].lower() + text[1:]
        problems.append(f"{path}: {key}: {reason}; {then} until it is fixed")
        return False
    return True

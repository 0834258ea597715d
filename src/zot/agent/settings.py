"""``config.json``: every setting with its type, default and meaning (``Values``). A wrong value costs only its key (a
guard becomes strict); saving keeps unknown keys and moves an unparsable file to ``config.json.bad``."""

from __future__ import annotations

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
_LIMITS = ("max_cost_session", "max_cost_day")
_NO_AMOUNT = -1.0  # in their place when they are no amounts: nothing is spent until they are
_WORDS = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "array": "a list"}
# What they are when nobody can tell.
_GUARDS: dict[str, Any] = {
    "permission_mode": "ask",
    "jail_by_default": True,
    "hooks_strict": True,
    **dict.fromkeys(_LIMITS, _NO_AMOUNT),
}
_LEVEL_ALIASES = {"minimal": "minimum", "maximum": "max"}


class SettingsValues(msgspec.Struct, frozen=True, kw_only=True):
    """The settings; the descriptions are those of the reference page."""

    provider: Annotated[str, Meta(description="Provider used when `--provider` is not given.")] = ""
    model: Annotated[str, Meta(description="Model used when `--model` is not given.")] = ""
    reasoning: Annotated[
        Reasoning,
        Meta(description="How hard the model thinks: `off`, `minimum`, `low`, `medium`, `high`, `xhigh`, `max`."),
    ] = ""
    show_thinking: Annotated[
        Literal["folded", "open", "off"],
        Meta(
            description="What is shown of a model's thoughts: `folded` shows them while it thinks and then one line "
            "(ctrl+o opens them), `open` keeps them, `off` shows none, in `--stream` too."
        ),
    ] = "folded"
    temperature: Annotated[
        float | None, Meta(description="Sampling temperature, 0 to 2; if absent, the provider chooses.")
    ] = None
    permission_mode: Annotated[
        Literal["", "plan", "ask", "accept-edits", "everything"],
        Meta(
            description="What runs without a question when `--permission-mode` is not given: `plan`, `ask`, "
            "`accept-edits` or `everything`, which is also the default."
        ),
    ] = ""
    tools: Annotated[
        tuple[str, ...], Meta(description="Tools switched on besides the default set, such as `glob` and `grep`.")
    ] = ()
    auto_swarm_enabled: Annotated[
        bool,
        Meta(description="The model may start agents that work in the background (the tools `swarm` stands for)."),
    ] = False
    auto_compact_threshold: Annotated[
        Annotated[int, Meta(ge=0, le=100)] | Literal["off"],
        Meta(description="Percent of the context window at which the transcript is compacted; `off` or 0 for never."),
    ] = 85
    bash_timeout_s: Annotated[
        _Seconds, Meta(description="Seconds a bash command may take unless the model asks for another limit.")
    ] = 120
    bash_timeout_max_s: Annotated[
        _Seconds, Meta(description="The most seconds a model may ask for when it runs a bash command.")
    ] = 600
    env_passthrough: Annotated[
        tuple[str, ...],
        Meta(
            description="Secret variables that child processes may see, by name or by pattern (`AWS_*`). Others are "
            "removed: those of model providers and of zot, which no pattern lets through, and whatever looks like a "
            "secret of another service (`GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `*_PASSWORD`). In the jail also any "
            "other variable that commands should have."
        ),
    ] = ()
    jail_by_default: Annotated[bool, Meta(description="Start every run in the jail, as `--jail` does.")] = False
    jail_roots: Annotated[
        tuple[str, ...], Meta(description="Directories that jailed commands may change beside the project's own.")
    ] = ()
    approve: Annotated[
        Literal["", "outside"],
        Meta(
            description="`outside`: in the jail, what a call wanted outside is put to you at the keyboard; as "
            "`--ask-outside` does, which also starts the jail."
        ),
    ] = ""
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
            description="Where a login keeps its secret: in `auth.json`, which only you can read, or in the system's "
            "keyring (needs the extra `zot-agent[keyring]`). What is stored already stays where it is."
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
            description="How often a model call is tried again when the provider is overloaded, limits the rate or "
            "cannot be reached, or the answer breaks off before its first word; 0 for never. The default makes ten "
            "tries within about three minutes."
        ),
    ] = 9
    retry_wait_s: Annotated[
        _Seconds,
        Meta(
            description="Seconds before the first retry. Each later wait is twice as long, up to a minute; a longer "
            "`Retry-After` of the provider is kept to, up to three minutes."
        ),
    ] = 0.5
    max_cost_session: Annotated[
        _Dollars,
        Meta(
            description="US dollars one session may cost when `--max-cost` is not given; a request that would go "
            "beyond is not made. 0 for no limit."
        ),
    ] = 0
    max_cost_day: Annotated[
        _Dollars,
        Meta(
            description="US dollars all runs together may cost on one day of this machine's clock, held across "
            "processes; 0 for no limit."
        ),
    ] = 0
    http_proxy: Annotated[
        str, Meta(description="Proxy for all requests; the environment's proxy variables come first.")
    ] = ""
    insecure: Annotated[
        bool,
        Meta(description="Skip TLS checks, only for addresses you gave yourself (`--base-url`, `models.json`)."),
    ] = False
    swarm_agents: Annotated[
        Annotated[int, Meta(ge=1, le=1000)],
        Meta(description="Workers of `zot swarm` that may be at work at the same time; the others wait."),
    ] = 4
    keep_changes_mb: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(
            description="Megabytes in `$ZOT_HOME/changes` for what files were before the agent changed them, which "
            "`/rewind` and `/diff` need; the oldest go first, after 30 days at the latest. 0 keeps nothing."
        ),
    ] = 512
    extension_tool_timeout_s: Annotated[_Seconds, Meta(description="Seconds an extension's tool may take.")] = 60
    hooks: Annotated[
        bool,
        Meta(
            description="Run hooks: those of `hooks.json`, and of Claude Code's settings files once you trusted them."
        ),
    ] = True
    hooks_strict: Annotated[
        bool,
        Meta(
            description="A tool call does not run when a `PreToolUse` hook crashed or timed out; else it runs, and a "
            'line says so. `"strict": true` in a hook is the same for that hook.'
        ),
    ] = False
    mcp_pinned: Annotated[
        tuple[str, ...],
        Meta(
            description="MCP servers (by name) and tools (`mcp__server__tool`) the model is always told of in full; "
            "others are found with `mcp_search`. `*` is all of them."
        ),
    ] = ()
    mcp_tool_timeout_s: Annotated[
        _Seconds, Meta(description="Seconds an MCP server may be silent in a call; its progress begins them anew.")
    ] = 300
    catalog_url: Annotated[
        str,
        Meta(
            description="An https address of a list of models with windows and prices, asked beside a prompt when what "
            "is kept of it in `$ZOT_HOME/catalog.json` is six hours old. Without it, that file is yours to write."
        ),
    ] = ""
    model_names: Annotated[
        dict[str, str],
        Meta(
            description="Names of your own for models, wherever one can be named (`--model`, `/model`): "
            '`{"fast": "claude-haiku-4-5", "smart": "openai/gpt-5"}`.'
        ),
    ] = {}
    quick_model_shortcuts: Annotated[
        dict[str, str],
        Meta(description='Models on ctrl+1 to ctrl+9, by digit: `{"1": "anthropic/claude-sonnet-4-5"}`.'),
    ] = {}
    keymap: Annotated[
        dict[str, str],
        Meta(
            description='Your own keys, each for a slash command: `{"alt+m": "/model"}`. A key has ctrl, alt, shift '
            "or cmd; `ctrl+c`, `ctrl+d` and `esc` keep their meaning."
        ),
    ] = {}
    vi_mode: Annotated[bool, Meta(description="Edit the prompt with vi keys; it begins in insert mode.")] = False
    theme: Annotated[str, Meta(description="Colour theme of the interactive mode.")] = ""
    inline_images_enabled: Annotated[
        bool | None, Meta(description="Show images in the terminal; if absent, it depends on the terminal.")
    ] = None
    terminal_title: Annotated[
        bool,
        Meta(description="Name the terminal's window after the project; `…` in front: it works, `?`: it asks you."),
    ] = True
    bell: Annotated[
        Literal["on", "quiet", "off"],
        Meta(
            description="How zot calls you after a long turn, or when a question has to wait: `on` rings and notifies "
            "the desktop where the terminal can, `quiet` only notifies, `off` does neither."
        ),
    ] = "on"
    notify_after_s: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Ring the bell at the end of a turn that took at least this many seconds; 0 for never."),
    ] = 15
    status_command: Annotated[
        str,
        Meta(
            description="A shell command whose first line of output is a row under the status bar. It gets the state "
            "as JSON on its standard input and has two seconds. Only this file can name it, never a project."
        ),
    ] = ""
    status_command_every_s: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Run `status_command` also after this many seconds; 0: only when something has happened."),
    ] = 0
    update_url: Annotated[
        str, Meta(description="Address of a release feed; without it zot never looks for updates.")
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
    """The file, read once. ``values`` are the sound settings, ``problems`` one line per wrong one."""

    def __init__(self, home: Path) -> None:
        self.problems: list[str] = []
        self._file = _SettingsFile(home / "config.json", self.problems)
        self.path = self._file.path
        self.values = SettingsValues()
        try:
            self.values = _values(self.path, self._file.load(), self.problems)
        except ConfigError as error:
            self.problems.append(f"{error}; until it is fixed, default settings are used and zot asks before it acts")
            guards: dict[str, Any] = {**self._file.guards(), "permission_mode": "ask"}
            self.values = SettingsValues(**guards)

    def save(self, **changes: Any) -> None:
        """Write the named keys; None removes one. ConfigError for an unknown key, a bad value, a failed write."""
        for key, value in changes.items():
            if key not in SettingsValues.__struct_fields__:
                raise ConfigError(f'{self.path}: there is no setting "{key}"')
            problems: list[str] = []
            if value is not None and not _sound(self.path, key, value, problems):
                raise ConfigError(problems[0].rpartition("; ")[0])
        with self._file.edit() as raw:
            raw.update(changes)
            for key in [key for key, value in raw.items() if value is None]:
                del raw[key]
        self.values = _values(self.path, raw, [])

    def near_misses(self) -> list[str]:
        """Keys that look like a mistyped setting. Unknown ones are kept, so only ``zot doctor`` speaks of them."""
        known = SettingsValues.__struct_fields__
        try:
            unknown = [key for key in self._file.load() if key not in known]
        except ConfigError:
            return []  # among the problems
        close = {key: closest_match(key, known, likeness=0.8) for key in unknown}
        return [f"{self.path}: {key} is not a setting; did you mean {meant}?" for key, meant in close.items() if meant]


class _SettingsFile(JsonObjectStore):
    skip_unchanged = False

    def __init__(self, path: Path, problems: list[str]) -> None:
        super().__init__(path)
        self._problems = problems

    def guards(self) -> dict[str, Any]:
        """Strict values for the settings that a file names which is no JSON."""
        try:
            data = read_bytes(self.path) or b""
        except ConfigError:
            return {}
        return {key: value for key, value in _GUARDS.items() if key.encode() in data}

    def load_to_edit(self) -> dict[str, Any]:
        """A file that is no JSON is moved aside. One that cannot be read now may be sound: it stays, and nothing is
        saved."""
        data, guards = read_bytes(self.path), self.guards()
        try:
            return {} if data is None else self.decode(data)
        except ConfigError:
            bad = quarantine_file(self.target)
            self._problems.append(f"{self.path} could not be read and is now {bad.name}; a new one was written")
            return guards


def parse_reasoning(text: str) -> Reasoning | None:
    """A level as people write it (any case, ``minimal``, ``maximum``); None when there is no such level."""
    level = text.strip().lower()
    level = _LEVEL_ALIASES.get(level, level)
    return level if level in ("", *REASONING_LEVELS) else None


def _values(path: Path, raw: dict[str, Any], problems: list[str]) -> SettingsValues:
    if not raw:
        return SettingsValues()  # spares most starts the 2 ms it takes to look at the types
    if "permission_mode" in raw:
        raw = {**raw, "permission_mode": _permission_mode(path, raw["permission_mode"], problems)}
    if not isinstance(raw.get("jail_by_default", False), bool):
        problems.append(f"{path}: jail_by_default: expected true or false; it is true until it is fixed")
        raw = {**raw, "jail_by_default": True}
    if isinstance(level := raw.get("reasoning"), str) and (parsed := parse_reasoning(level)) is not None:
        raw = {**raw, "reasoning": parsed}
    try:
        return _checked(raw)
    except msgspec.ValidationError:
        sound = {key: value for key, value in raw.items() if _sound(path, key, value, problems)}
        wrong = {key: _NO_AMOUNT for key in _LIMITS if key in raw and key not in sound}
        return msgspec.structs.replace(_checked(sound), **wrong)


def _permission_mode(path: Path, value: Any, problems: list[str]) -> str:
    """A mistyped guard is one that asks."""
    from zot.core.permission_modes import MODES, parse_mode  # few set it

    mode = parse_mode(value) if isinstance(value, str) else None
    if mode is None and value != "":
        problems.append(f"{path}: permission_mode: expected one of {', '.join(MODES)}; it is ask until it is fixed")
    return mode or ("" if value == "" else "ask")


def _checked(raw: dict[str, Any]) -> SettingsValues:
    values = msgspec.convert(raw, SettingsValues)
    if values.temperature is not None and not 0 <= values.temperature <= 2:
        raise msgspec.ValidationError("Expected a number from 0 to 2 - at `$.temperature`")
    return values


def _sound(path: Path, key: str, value: Any, problems: list[str]) -> bool:
    try:
        _checked({key: value})
    except msgspec.ValidationError as error:
        then = "nothing that costs money is asked" if key in _LIMITS else "the key is ignored"
        text = str(error).partition(" - at ")[0]
        for name, word in _WORDS.items():
            text = text.replace(f"`{name}`", word)
        reason = text[0].lower() + text[1:]
        problems.append(f"{path}: {key}: {reason}; {then} until it is fixed")
        return False
    return True

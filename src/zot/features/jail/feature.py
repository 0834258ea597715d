"""The jail of a conversation: set by flags and settings, entered and left by the user.
Project files, models, extensions and controlling programs cannot change it. A change restarts the processes of every
feature, or is refused."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from zot.agent.feature import Feature
from zot.agent.tools.registry import bash_limits
from zot.errors import ConfigError, UsageError, ZotError
from zot.system.files import find_program, write_atomic
from zot.system.jail.git_config import named_paths
from zot.system.jail.jail import Jail, JailSupport, detect_support
from zot.system.jail.policy import policy_for
from zot.system.jail.system_paths import SYSTEM, beneath_any
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.agent.services import Services
    from zot.agent.settings import SettingsValues
    from zot.core.tool import Tool
    from zot.features.jail.outside_access import OutsideAccess

LEVELS = ("reduced", "full")
_REMEMBERED = "jail.json"


class JailOptions(msgspec.Struct, frozen=True):
    """``level`` is the minimum level."""

    network: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    level: Literal["full", "reduced"] = "reduced"


def jail_options(
    jail: str, read: tuple[str, ...], write: tuple[str, ...], level: str, values: SettingsValues
) -> JailOptions:
    """The jail of flags and settings; any jail flag enables it."""
    least = "full" if level == "full" else "reduced"
    return JailOptions(jail == "net", read, (*write, *values.jail_roots), least)


def confine(root: Path, home: Path, asked: JailOptions) -> Jail:
    """The jail, ready to run commands; ZotError with a fix if there is none."""
    machine = cached_jail_support(home)
    if not machine.level:
        raise ZotError(f"no jail: {machine.why}")
    if LEVELS.index(machine.level) < LEVELS.index(asked.level):
        raise ZotError(f"no jail of level {asked.level}: {machine.why}; --require-jail reduced accepts less")
    read = (*asked.read, *zot_program_paths())
    policy = policy_for(root, read=read, write=asked.write, network=asked.network)
    named = [name for place in policy.writable for name in named_paths(place)]
    policy = msgspec.structs.replace(policy, protected=tuple(dict.fromkeys((*policy.protected, *named))))
    own = os.path.realpath(home)
    if any(own == path or own.startswith(f"{path}/") for path in policy.writable):
        raise ConfigError(
            f"jail: zot's own directory {own} is inside {policy.root} and would be accessible to commands"
        )
    return Jail(policy, machine)


def zot_program_paths() -> list[str]:
    """Python and zot, for the search process."""
    places = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[3]))
    home = os.path.realpath(os.path.expanduser("~"))  # not for a Python installed directly in it
    return [path for path in places if not beneath_any(path, SYSTEM) and not beneath_any(home, (path.rstrip("/"),))]


def cached_jail_support(home: Path) -> JailSupport:
    """The stored result while program, kernel and boot are unchanged; else tests again."""
    program = find_program("bwrap") or ""
    changed = os.stat(program).st_mtime_ns if program else 0
    try:
        boot = read_whole("/proc/sys/kernel/random/boot_id", 64).decode().strip()
    except (OSError, UnicodeError):
        boot = ""
    key = f"1 {program} {changed} {platform.release()} {boot} {os.geteuid()}"
    try:
        known = msgspec.json.decode(read_whole(home / _REMEMBERED), type=_KnownJail)
        if known.key == key:
            return known.machine
    except (OSError, msgspec.DecodeError, UnicodeError):
        pass
    found = detect_support(find_program)
    with suppress(OSError):  # then it is tested again next time
        write_atomic(home / _REMEMBERED, msgspec.json.encode(_KnownJail(key, found)))
    return found


class _KnownJail(msgspec.Struct, frozen=True):
    key: str
    machine: JailSupport


class JailFeature(Feature):
    """``outside`` asks the user about paths outside the jail, if that is enabled or can be."""

    name = "jail"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.outside: OutsideAccess | None = None

    @classmethod
    def prepare(cls, services: Services) -> None:
        config, values = services.config, services.settings.values
        flags = (config.jail, config.jail_read, config.jail_write, config.jail_level, config.approve)
        if services.workspace.jail is None and not config.no_jail and (any(flags) or values.jail_by_default):
            services.workspace.jail = create_jail(services, config.jail)

    def join(self) -> None:
        config, front_end = self.services.config, self.services.front_end
        asks = bool(config.approve or self.conversation.settings.values.ask_outside)
        if asks or front_end.switches:
            from zot.features.jail.outside_access import OutsideAccess
            from zot.features.questions import question_queue

            workspace = self.conversation.workspace
            questions = question_queue(self.services)
            self.outside = OutsideAccess(workspace, self.conversation.home, questions, self.notify, asks=asks)
        self.system_prompt.add_section("jail", self._notice, order=20)

    def _notice(self) -> str:
        return jail_notice(self.conversation.workspace.jail, asks=self.asks_outside)

    @property
    def asks_outside(self) -> bool:
        """Whether the user is asked before a call reaches outside the jail."""
        return self.outside is not None and self.outside.asks

    def wrap_tool(self, tool: Tool) -> Tool:
        if self.outside is None:
            return tool
        from zot.features.jail.outside_access import OutsideRetryTool

        limits = bash_limits(self.services.settings.values)
        return OutsideRetryTool(tool.name, self.conversation.workspace, limits, self.outside)

    def apply_settings(self) -> None:
        """Asks about outside paths from the next call on, as flag and settings say."""
        if self.outside is not None:
            self.outside.asks = bool(self.services.config.approve or self.conversation.settings.values.ask_outside)

    def for_worker(self, config: RunConfig) -> RunConfig:
        jail = self.conversation.workspace.jail
        return msgspec.structs.replace(
            config,
            jail="" if jail is None else "net" if jail.policy.network else "on",
            approve=config.approve if self.asks_outside else "",
        )

    # --- entering and leaving

    async def enter(self, *, network: bool = False) -> str:
        """Confine tools from now on and return the jail's label; ZotError if it cannot be enforced."""
        jail = create_jail(self.services, "net" if network else "on")
        try:
            await self._change(jail)
        except BaseException:
            jail.close()
            raise
        return jail.label

    async def add_dir(self, path: Path) -> None:
        """Let tools use a directory like the project, until zot ends; ZotError if it cannot be one."""
        workspace, real = self.conversation.workspace, os.path.realpath(path)
        if not os.path.isdir(real):
            raise ZotError(f"{path} is not a directory")
        home = os.path.realpath(os.path.expanduser("~"))
        if beneath_any(home, (real,)) or beneath_any(os.path.realpath(self.conversation.home), (real,)):
            raise ZotError(f"{path} contains your home or zot's own directory; name a directory below it")
        before, jail = workspace.added_dirs, workspace.jail
        workspace.added_dirs = tuple(dict.fromkeys((*before, real)))
        try:
            if jail is not None:
                await self.enter(network=jail.policy.network)
        except BaseException:
            workspace.added_dirs = before
            raise

    async def leave(self) -> bool:
        """Leave the jail; true if there was one."""
        if self.conversation.workspace.jail is None:
            return False
        await self._change(None)
        return True

    async def _change(self, jail: Jail | None) -> None:
        workspace = self.conversation.workspace
        if jail is not None and workspace.running_jobs:
            raise ZotError("background commands run outside the jail; end them first (/jobs)")
        before, workspace.jail = workspace.jail, jail
        try:
            for feature in self.conversation.features:
                await feature.confine(jail)
        except BaseException:
            workspace.jail = before
            raise
        if before is not None:
            before.close()
        for feature in self.conversation.features:
            feature.limits_changed()

    def status(self) -> str:
        jail = self.conversation.workspace.jail
        return jail.label if jail is not None else ""

    async def aclose(self) -> None:
        if self.conversation.workspace.jail is not None:
            self.conversation.workspace.jail.close()


def create_jail(services: Services, kind: str) -> Jail:
    config = services.config
    write = (*config.jail_write, *services.workspace.added_dirs)
    asked = jail_options(kind, config.jail_read, write, config.jail_level, services.settings.values)
    return confine(services.workspace.cwd, services.home, asked)


def jail_of(conversation: Conversation) -> JailFeature:
    """The jail feature for the user's commands; UsageError in a side chat."""
    feature = conversation.feature(JailFeature)
    if feature is None:
        raise UsageError("a side chat shares its parent's jail and cannot change it")
    return feature


def jail_notice(jail: Jail | None, *, asks: bool) -> str:
    """Describes the jail for the model; empty without one."""
    if jail is None:
        return ""
    policy = jail.policy
    writable = ", ".join((*policy.writable, *policy.write_files))
    network = "There is a network." if policy.network else "There is no network."
    person = "the user is asked about it" if asks else "only the user can open it (/unjail)"
    return (
        f"Your tools run in a jail enforced by the operating system: only {writable} can be changed, the system can be "
        f"read, HOME and /tmp are private. {network} What is outside is refused, and {person}. When a task needs "
        "something outside, say so plainly; do not try to work round the jail."
    )

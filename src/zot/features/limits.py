"""Permission mode and jail belong to the session: they are recorded in its file and come back with it.
Flags win; otherwise the narrower of the session's and the user's default applies, so that a session file, which may
come from someone else, never allows more than the settings do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from zot.agent.feature import Feature
from zot.core.events import SessionStarted
from zot.core.permission_modes import Mode, is_wider, parse_mode
from zot.core.session.records import SessionLimits
from zot.errors import UsageError, ZotError
from zot.features.lookup import asks_outside

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.services import Services
    from zot.core.events import AgentEvent
    from zot.core.session.session import Session

_NOTHING = SessionLimits()


class LimitsFeature(Feature):
    """Restores the limits of a resumed session before anything starts, and records each change."""

    name = "limits"

    @classmethod
    def prepare(cls, services: Services) -> None:
        saved = services.resumed.limits if services.resumed is not None else _NOTHING
        if services.config.no_jail and has_jail_flag(msgspec.structs.replace(services.config, no_jail=False)):
            raise UsageError("--no-jail contradicts the other jail flags; use one of them")
        services.config = _with_mode(services, saved)
        if not has_jail_flag(services.config) and not services.settings.values.jail_by_default:
            _restore_jail(services, saved)

    def join(self) -> None:
        self._before = self.services.resumed.limits if self.services.resumed is not None else _NOTHING
        self.conversation.subscribe(self._session_started, SessionStarted)

    def joined(self) -> None:
        for text in self._notices():
            self.notify(text, level="info")
        if self.services.missing_jail:
            self.notify(f"{self.services.missing_jail}; zot asks before each command instead (start_mode is jailed)")

    def _notices(self) -> list[str]:
        """What a resumed session brings, and what a flag changed of it."""
        now, before = self._current(), self._before
        if before == _NOTHING:
            return []
        lines: list[str] = []
        if now.permission_mode != before.permission_mode and before.permission_mode:
            lines.append(
                f"permission mode {now.permission_mode or 'everything'}; this session had {before.permission_mode}"
            )
        if before.jail and not now.jail:
            lines.append("not jailed (--no-jail); this session was jailed")
        return lines or [f"resumed with {describe(now)}"]

    # --- changes

    def limits_changed(self) -> None:
        self._record()

    def _session_started(self, event: AgentEvent) -> None:
        self._record()

    def _record(self) -> None:
        if self.conversation.session is not None:
            self.conversation.session.set_limits(self._current())

    def _current(self) -> SessionLimits:
        """The limits of now; a mode that a small model requires is not the session's."""
        gate, jail, config = self.conversation.gate, self.conversation.workspace.jail, self.services.config
        mode = "" if gate is None or gate.mode in ("everything", self.services.constrained_mode) else gate.mode
        chosen = gate is not None and bool(mode) and gate.mode_chosen
        if jail is None:
            return SessionLimits(permission_mode=mode, mode_chosen=chosen)
        return SessionLimits(
            permission_mode=mode,
            mode_chosen=chosen,
            jail="net" if jail.policy.network else "on",
            level=config.jail_level,
            read=_absolute(config.jail_read),
            write=_absolute(config.jail_write),
            ask_outside=asks_outside(self.conversation),
        )

    async def before_session(self, session: Session) -> None:
        """Another session takes over: its limits apply where they are narrower."""
        saved, gate = session.limits, self.conversation.gate
        if saved.jail and self.conversation.workspace.jail is None:
            from zot.features.jail.feature import jail_of

            self.services.config = _jailed(self.services.config, saved)
            await jail_of(self.conversation).enter(network=saved.jail == "net")
        mode = parse_mode(saved.permission_mode)
        if gate is not None and mode is not None and not is_wider(mode, gate.mode):
            gate.mode_chosen = gate.mode_chosen or saved.mode_chosen
            gate.mode = mode
        if saved != _NOTHING:
            self.notify(f"resumed with {describe(self._current())}", level="info")


def has_jail_flag(config: RunConfig) -> bool:
    flags = (config.jail, config.jail_read, config.jail_write, config.jail_level, config.approve)
    return config.no_jail or any(flags)


def describe(limits: SessionLimits) -> str:
    jail = {"": "", "on": "jailed", "net": "jailed with network"}[limits.jail]
    return ", ".join(filter(None, (f"permission mode {limits.permission_mode or 'everything'}", jail)))


def _with_mode(services: Services, saved: SessionLimits) -> RunConfig:
    """The narrower of the session's mode and the default, unless a flag names one."""
    config, values = services.config, services.settings.values
    services.mode_chosen = bool(config.permission_mode) or saved.mode_chosen
    if config.permission_mode:
        return config
    default = values.permission_mode or ("ask" if services.front_end.switches and values.start_mode == "ask" else "")
    return msgspec.structs.replace(config, permission_mode=_narrower(saved.permission_mode, default))


def _narrower(one: str, other: str) -> str:
    """Empty if both are."""
    modes: list[Mode] = [mode for text in (one, other) if (mode := parse_mode(text)) is not None]
    return "" if not modes else modes[0] if len(modes) == 1 or is_wider(modes[1], modes[0]) else modes[1]


def _restore_jail(services: Services, saved: SessionLimits) -> None:
    """The jail of the session, else that of ``start_mode`` in the terminal.
    A session's jail that this machine does not have is an error; instead of the default one, zot asks."""
    from zot.features.jail.feature import create_jail

    config = services.config
    if saved.jail:
        services.config = _jailed(config, saved)
        try:
            services.workspace.jail = create_jail(services, saved.jail)
        except ZotError as error:
            raise ZotError(f"this session was jailed: {error}; resume it without a jail: --no-jail") from error
    elif services.front_end.switches and services.settings.values.start_mode == "jailed":
        try:
            services.workspace.jail = create_jail(services, "on")
            services.config = msgspec.structs.replace(config, jail="on", approve="outside")
        except ZotError as error:
            services.missing_jail = str(error)
            mode = _narrower(config.permission_mode, "ask")
            services.config = msgspec.structs.replace(config, permission_mode=mode)


def _jailed(config: RunConfig, saved: SessionLimits) -> RunConfig:
    return msgspec.structs.replace(
        config,
        jail="net" if saved.jail == "net" else "on",
        jail_level="full" if saved.level == "full" else "",
        jail_read=saved.read,
        jail_write=saved.write,
        approve="outside" if saved.ask_outside else "",
    )


def _absolute(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.abspath(os.path.expanduser(path)) for path in paths)

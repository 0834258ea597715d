"""The configured servers become the host of a run: what may run at once, what waits for a person's trust, what is said.

The user's own files and ``--mcp-config`` are acts of the user, and plugins hand over what of theirs may run. What a
project brings runs after exactly that entry was trusted, with its command before the person's eyes. Where nothing has
changed since a run before, all that a first request needs is one remembered sentence, and the files are read when a
server is first thought of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot import __version__
from zot.errors import ConfigError
from zot.features.mcp.host import McpHost
from zot.system.digest import sha256
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.services import Resources
    from zot.features.mcp.config import Entry


class Opening(msgspec.Struct, frozen=True):
    """What the first request says of all servers, as long as ``key`` holds."""

    key: str
    description: str


def mcp_host_of(resources: Resources, tell: Callable[[str], None], problems: list[str]) -> McpHost | None:
    """None when no file has a server; ``problems`` are added to."""
    places = _places(resources)
    if not (resources.settings.values.mcp_pinned or _named(resources)):
        known = _remembered(resources.home, places)
        if known is not None and known.key == _key(resources, places):
            return _host(resources, lambda: _entries(resources, [])[0], tell, known.description)
    found: list[str] = []
    entries, waiting = _entries(resources, found)
    if not entries and not waiting:
        problems += found
        return None
    host = _host(resources, entries, tell)
    host.untrusted = {entry.name: entry for entry in waiting}
    if not found and not waiting:
        host.on_stop = lambda: _remember(resources, places, host)
    if not resources.front_end.may_log_in:
        found += [not_trusted(entry) for entry in host.untrusted.values()]
    problems += found
    return host


def _host(
    resources: Resources,
    entries: Mapping[str, Entry] | Callable[[], Mapping[str, Entry]],
    tell: Callable[[str], None],
    description: str = "",
) -> McpHost:
    values = resources.settings.values
    host = McpHost(
        entries,
        home=resources.home,
        workspace=resources.workspace,
        pins=values.mcp_pinned,
        named=_named(resources),
        timeout_s=values.mcp_tool_timeout_s,
        store=resources.auth,
        proxy=values.http_proxy,
        description=description,
        tell=tell,
    )
    host.asked = resources.front_end.elicit
    return host


def _named(resources: Resources) -> tuple[str, ...]:
    """What this run was told to have."""
    return tuple(name for name in resources.config.tools or () if name.startswith("mcp__"))


# --- what a run before has left


def _places(resources: Resources) -> list[Path]:
    config, home, cwd = resources.config, resources.home, resources.workspace.cwd
    own = [home / "mcp.json", home / "plugins.json", cwd / ".mcp.json", cwd / ".zot" / "mcp.json"] if config.mcp else []
    return [*own, *(cwd / typed for typed in config.mcp_config)]


def _file(home: Path, places: Sequence[Path]) -> Path:
    return home / "mcp" / "openings" / f"{sha256(repr(places).encode())[:16]}.json"


def _remembered(home: Path, places: Sequence[Path]) -> Opening | None:
    try:
        return msgspec.json.decode(read_whole(_file(home, places), 64 * 1024), type=Opening)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None


def _key(resources: Resources, places: Sequence[Path]) -> str:
    """Everything that the sentence was made from: the files, whom the user trusts, the lists, this zot."""
    parts = [__version__, str(resources.config.trust_project), str(_changed(resources.home / "mcp"))]
    for path in (*places, resources.home / "trust.json"):
        try:
            parts.append(sha256(read_whole(path)))
        except OSError as error:
            parts.append(type(error).__name__)
    return sha256(" ".join(parts).encode())


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _remember(resources: Resources, places: Sequence[Path], host: McpHost) -> None:
    from zot.system.files import make_private_dir, write_atomic

    path = _file(resources.home, places)
    try:
        make_private_dir(path.parent)
        opening = Opening(_key(resources, places), host.described_now())
        if opening != _remembered(resources.home, places):
            write_atomic(path, msgspec.json.encode(opening))
    except OSError:
        return  # the next run reads everything again


# --- who may run


def _entries(resources: Resources, problems: list[str]) -> tuple[dict[str, Entry], list[Entry]]:
    """Those that may run, by name, and those that nobody has trusted."""
    from zot.features.mcp.config import by_name, load

    config = resources.config
    found = load(resources.home, resources.workspace.cwd, config.mcp_config, installed=config.mcp, problems=problems)
    waiting = [] if config.trust_project else untrusted_of(resources, found, problems)
    return by_name((entry for entry in found if not any(entry is other for other in waiting)), problems), waiting


def untrusted_of(resources: Resources, found: Sequence[Entry], problems: list[str]) -> list[Entry]:
    """What the project brings and nobody has trusted as it is now; all of it where that cannot be known."""
    asks = [entry for entry in found if needs_trust(entry) and entry.enabled]
    if not asks:
        return []
    from zot.features.trust import TrustStore

    trust, cwd = TrustStore(resources.home), resources.workspace.cwd
    try:
        return [entry for entry in asks if not trust.is_trusted(cwd, "mcp", entry.name, entry.content())]
    except ConfigError as error:
        problems.append(f"mcp: {error}")
        return asks


def needs_trust(entry: Entry) -> bool:
    return entry.origin == "project"


def not_trusted(entry: Entry) -> str:
    where = f"mcp: {entry.name} of {entry.file}"
    return f"{where} is not trusted and does not run: {entry.shown()}; `zot mcp trust {entry.name}`"

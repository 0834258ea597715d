"""``zot ext list``: installed extensions, read from their manifests; ``--json`` adds source, data and problems."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from zot.cli.arguments import parse
from zot.cli.output import print_escaped, print_notice
from zot.cli.verb_table import options
from zot.features.extensions.install.installed import Installed, all_installed
from zot.features.extensions.loader.declared_permissions import OF_PROJECTS, Permissions, describe_permissions
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.system.files import zot_home
from zot.system.visible_text import escape_invisible
from zot.tui.width import cells, cut

FORMAT = 1
COLUMNS = (
    ("SCOPE", 12),
    ("NAME", 20),
    ("VERSION", 10),
    ("ENABLED", 8),
    ("LANGUAGE", 10),
    ("DESCRIPTION", 30),
    ("KIND", 13),
    ("TRUST", 9),
    ("PERMISSIONS", 11),
    ("DIR", 0),
)
_DESCRIPTION, _CUT = 5, 30  # on a screen


def run(argv: list[str]) -> int:
    typed = parse(argv, options("ext list"), least=0, most=0)
    trust = ExtensionTrust(zot_home())
    if typed.has("--json"):
        described = [_described(item, trust) for item in all_installed()]
        # ASCII: a path need not be UTF-8, and a name may contain terminal control characters.
        sys.stdout.write(json.dumps(msgspec.to_builtins({"format": FORMAT, "extensions": described})) + "\n")
        return 0
    rows = [_cells(item, trust) for item in all_installed() if item.manifest]
    if not rows:
        print_notice("no extensions installed; try `zot ext install PATH|URL` or `zot ext new NAME --lang python`")
        return 0
    if sys.stdout.isatty():
        rows = [[*row[:_DESCRIPTION], cut(row[_DESCRIPTION], _CUT), *row[_DESCRIPTION + 1 :]] for row in rows]
    table = [[title for title, _ in COLUMNS], *rows]
    widths = [
        max(least, *map(cells, column)) for column, (_, least) in zip(zip(*table, strict=True), COLUMNS, strict=True)
    ]
    for row in table:
        padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=True))
        print_escaped(" ".join(padded).rstrip())
    return 0


def _cells(item: Installed, trust: ExtensionTrust) -> list[str]:
    manifest = item.manifest
    if manifest is None:
        return []
    enabled = "yes" if manifest.enabled else "no"
    columns = (item.scope, manifest.name, manifest.version, enabled, manifest.language, manifest.description)
    rest = (manifest.kind, _trust(item, trust), _confined(item, trust), str(item.directory))
    return [escape_invisible(cell) or "-" for cell in (*columns, *rest)]


def _permissions(item: Installed, trust: ExtensionTrust) -> Permissions | None:
    """None if it runs unconfined."""
    if item.manifest is None:
        return None
    if item.scope != "project":
        return item.manifest.permissions
    return None if trust.is_unconfined(item.directory) else item.manifest.permissions or OF_PROJECTS


def _confined(item: Installed, trust: ExtensionTrust) -> str:
    if item.manifest is None or not item.manifest.has_process:
        return ""
    return "confined" if _permissions(item, trust) else "unconfined"


def _trust(item: Installed, trust: ExtensionTrust) -> str:
    """``trusted``, ``changed`` since, ``untrusted``, or empty if it needs no trust (your own, or without a process)."""
    if item.scope != "project" or (item.manifest and not item.manifest.has_process):
        return ""
    if trust.is_trusted(item.directory):
        return "trusted"
    return "changed" if trust.record(item.directory) else "untrusted"


def _described(item: Installed, trust: ExtensionTrust) -> dict[str, Any]:
    from zot.features.extensions.install.source import read_record
    from zot.features.extensions.loader.data_dir import data_dir

    fields: dict[str, Any] = {"name": item.name, "scope": item.scope, "directory": str(item.directory)}
    manifest = item.manifest
    if manifest is None:
        return {**fields, "problem": item.problem}
    record = None if item.scope == "project" else read_record(item.directory)
    return {
        **fields,
        "version": manifest.version,
        "enabled": manifest.enabled,
        "language": manifest.language,
        "description": manifest.description,
        "kind": manifest.kind,
        "guard": manifest.guard,
        "trust": _trust(item, trust) or None,
        "confined": _confined(item, trust) == "confined",
        "permissions": describe_permissions(_permissions(item, trust)) if manifest.has_process else [],
        "uses": manifest.uses,
        "data_directory": str(data_dir(manifest, item.scope, Path.cwd(), zot_home())),
        "source": msgspec.to_builtins(record.source) if record else None,
        "commit": record.commit if record else "",
    }

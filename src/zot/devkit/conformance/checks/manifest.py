"""Checks ``extension.json`` before anything runs, and finds the cause if the host refuses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from zot.devkit.conformance.checks.program import is_runnable
from zot.devkit.conformance.frame_transcript import json_type_error
from zot.devkit.conformance.results import Check, CheckResults
from zot.errors import ExtensionError, closest_match
from zot.features.extensions.loader.manifest import FILE, KEYS, Manifest, read_manifest
from zot.system import strict_json
from zot.system.safe_open import read_whole

CHECKS = (
    Check(
        "manifest-missing",
        "3",
        (13,),
        "the path is a directory that holds an extension.json",
        "name the directory of the extension; `zot ext new NAME --lang LANGUAGE` makes one",
    ),
    Check(
        "manifest-encoding",
        "3",
        (13,),
        "extension.json is UTF-8 without a byte order mark",
        'save it as "UTF-8", not as "UTF-16", "Unicode" or "UTF-8 with BOM"',
    ),
    Check(
        "manifest-json",
        "3",
        (13,),
        "extension.json is one JSON object",
        "JSON has double quotes, no comments, and no comma before a closing bracket",
    ),
    Check(
        "manifest-key-types",
        "3",
        (13,),
        "each key of extension.json has its type",
        "name, exec, version, language and description are strings, args and skills lists of strings, enabled and "
        "guard true or false",
    ),
    Check(
        "manifest-name",
        "3",
        (12, 13),
        "name is there and can be part of a file name",
        'write "name": "weather": no path separators, control characters, "." or ".."',
    ),
    Check(
        "manifest-no-exec",
        "3",
        (15,),
        "there is an exec, a theme file or skills",
        'write "exec": the program to run, such as "python3" with "args": ["main.py"], or "./main"',
    ),
    Check(
        "manifest-unknown-key",
        "3",
        (13,),
        "the keys of extension.json are those zot knows",
        "correct the spelling: zot ignores a key it does not know, and a guard that is spelled wrong guards nothing",
    ),
    Check(
        "manifest-permissions",
        "3",
        (13,),
        "permissions name what zot can grant",
        'write "permissions": {"fs": {"read": ["$PROJECT"], "write": []}, "net": false, "exec": ["git"], "env": [], '
        '"intercept": ["tool_call"]}; what is left out is not granted',
    ),
    Check(
        "manifest-disabled",
        "3",
        (14,),
        "the extension is enabled",
        'remove "enabled": false, or run `zot ext enable NAME`',
    ),
)

_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\xef\xbb\xbf": "UTF-8 with a byte order mark"}


def check_manifest(directory: Path, verdicts: CheckResults) -> Manifest | None:
    """The manifest, or None when it cannot be used."""
    if not _is_there(directory, verdicts):
        return None
    try:
        data = read_whole(directory / FILE)
    except OSError:
        data = b""
    _encoding(data, verdicts)
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        _explain(str(error), data, verdicts)
        return None
    verdicts.passed("manifest-encoding", "manifest-json", "manifest-key-types", "manifest-name", "manifest-no-exec")
    _unknown_keys(data, verdicts)
    for slip in manifest.slips:
        if "key of extension.json" not in slip:
            verdicts.failed("manifest-permissions", slip)
    verdicts.passed("manifest-permissions")
    if manifest.enabled:
        verdicts.passed("manifest-disabled")
    else:
        verdicts.warned("manifest-disabled", '"enabled" is false: zot does not load it')
    if not manifest.has_process:
        return manifest
    return manifest if is_runnable(manifest, verdicts) else None


def _is_there(directory: Path, verdicts: CheckResults) -> bool:
    if not directory.exists():
        verdicts.failed("manifest-missing", f"{directory}: no such directory")
    elif not directory.is_dir():
        verdicts.failed("manifest-missing", f"{directory} is a file: name the directory that holds it")
    elif not os.path.lexists(directory / FILE):
        near = closest_match(FILE, (name for name in os.listdir(directory) if name.lower().endswith((".json", ".txt"))))
        verdicts.failed("manifest-missing", f"{directory} has no {FILE}" + (f"; is it {near}?" if near else ""))
    elif not (directory / FILE).is_file():
        verdicts.failed("manifest-missing", f"{directory / FILE} is not a file")
    else:
        verdicts.passed("manifest-missing")
    return not verdicts.has_failed("manifest-missing")


def _encoding(data: bytes, verdicts: CheckResults) -> None:
    found = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "")
    if data.startswith(b"\xef\xbb\xbf"):
        verdicts.warned("manifest-encoding", f"{FILE} is {found}; other programs refuse it")
    elif found or b"\0" in data[:4]:
        verdicts.failed("manifest-encoding", f"{FILE} is {found or 'UTF-16'}")
    else:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            verdicts.failed("manifest-encoding", f"{FILE} is not UTF-8: byte {error.start} is {data[error.start]:#04x}")


def _explain(reason: str, data: bytes, verdicts: CheckResults) -> None:
    """The rule that a rejected manifest breaks."""
    if verdicts.has_failed("manifest-encoding"):
        return
    text = reason.removeprefix(f"{FILE}: ")
    if not data.strip():
        verdicts.failed("manifest-json", f"{FILE} is empty")
    elif text.startswith("Expected `"):
        verdicts.failed("manifest-key-types", json_type_error(text), data)
    elif text.startswith('"permissions'):
        verdicts.failed("manifest-permissions", text, data)
    elif '"name"' in text or "the name " in text:
        verdicts.failed("manifest-name", text, data)
    elif '"exec"' in text:
        _unknown_keys(data, verdicts)  # first: a misspelt "exec" is the cause
        verdicts.failed("manifest-no-exec", text, data)
    else:
        verdicts.failed("manifest-json", text, data)


def _unknown_keys(data: bytes, verdicts: CheckResults) -> None:
    """A key similar to a known one fails; others may be for other programs."""
    fields: Any = strict_json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    for key in fields:
        closest = closest_match(str(key).lower(), KEYS)
        if key in KEYS:
            continue
        if closest:
            verdicts.failed("manifest-unknown-key", f'"{key}" is not a key of {FILE}; did you mean "{closest}"?')
        else:
            verdicts.warned("manifest-unknown-key", f'"{key}" is not a key of {FILE}, and is ignored')
    verdicts.passed("manifest-unknown-key")

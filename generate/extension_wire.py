"""The generated pages of the extension wire: path to the function that makes its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from generate import go, golden, python, reference, schema, typescript


def pages() -> dict[str, Callable[[], str]]:
    return {
        "docs/schema/extension-child.json": lambda: _json(schema.child_schema()),
        "docs/schema/extension-host.json": lambda: _json(schema.host_schema()),
        "docs/schema/golden-frames.jsonl": golden.lines,
        "docs/reference/extension-protocol.md": reference.page,
        "src/zot/ext/frames.py": python.module,
        "sdks/typescript/src/frames.ts": typescript.module,
        "sdks/go/internal/wire/frames.go": go.module,
    }


def _json(value: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"

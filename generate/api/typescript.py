"""The page of the TypeScript package: the exports of its two entry points, with the comment before each declaration."""

from __future__ import annotations

import re
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "sdks/typescript/src"
_ENTRY_POINTS = {
    "zot-ext": ("extension.ts", "handlers.ts", "answers.ts"),
    "zot-ext/client": ("client.ts", "client-error.ts"),
}
_HEAD = """\
# TypeScript: zot-ext

<!-- Generated from sdks/typescript/src by `make generate`; do not edit. -->

Every name of `zot-ext`, the package for extensions in TypeScript and JavaScript, and of its client for `zot rpc`.
[Your first extension](../guides/your-first-extension.md) and [embedding](../guides/embedding.md) show how to use it.

```ts
import { Extension } from "zot-ext";
import { Client } from "zot-ext/client";
```

Frames have the types of [extension-protocol](extension-protocol.md), events and data of the client those of
[rpc-protocol](rpc.md).
"""
_DECLARATION = re.compile(r"^export (?:abstract )?(class|interface|type|function|const) (\w+)", re.MULTILINE)
_MEMBER = re.compile(
    r"^  (?!#|private|//|\}|\s)(?:readonly |static |override |async |get )*(\*?\w+|\[Symbol\.\w+\])[<(?:]"
)


def page() -> str:
    parts = [_HEAD]
    for entry_point, files in _ENTRY_POINTS.items():
        parts.append(f'## `import {{ … }} from "{entry_point}"`\n')
        for file in files:
            text = (_SOURCE / file).read_text(encoding="utf-8")
            parts += [_entry(text, found) for found in _DECLARATION.finditer(text)]
    return "\n".join(parts)


def _entry(text: str, found: re.Match[str]) -> str:
    kind, name = found[1], found[2]
    lines = text[found.start() :].split("\n")
    about = _comment(text[: found.start()])
    head = [f"### {name}", "", *([about, ""] if about else [])]
    if kind == "class":
        return "\n".join([*head, *_members(lines[1:])])
    return "\n".join([*head, "```ts", *_declared(kind, lines), "```", ""])


def _declared(kind: str, lines: list[str]) -> list[str]:
    """An interface or type whole, a function without its body."""
    if kind in ("function", "const"):
        return [_head(lines)]
    taken: list[str] = []
    for line in lines:
        taken.append(line.removeprefix("export "))
        depth = sum(part.count("{") - part.count("}") for part in taken)
        if depth == 0 and (line.endswith((";", "}"))):
            break
    return taken


def _members(lines: list[str]) -> list[str]:
    out: list[str] = []
    for number, line in enumerate(lines):
        if line == "}":
            break
        if _MEMBER.match(line):
            signature = _head(lines[number:]).strip()
            about = _comment("\n".join(lines[:number]) + "\n")
            out += ["```ts", signature, "```", "", *([about, ""] if about else [])]
    return out


def _head(lines: list[str]) -> str:
    """A declaration up to its body, on one line."""
    words: list[str] = []
    for line in lines:
        words.append(line.strip())
        if line.rstrip().endswith(("{", ";")):
            break
    text = re.sub(r"\s+", " ", " ".join(words)).removeprefix("export ").removesuffix("{").removesuffix(";").strip()
    return text.replace("( ", "(").replace(", )", ")")


def _comment(before: str) -> str:
    """The documentation comment that ends right here."""
    text = before.rstrip("\n")
    if not text.endswith("*/"):
        return ""
    start = text.rfind("/**")
    lines = text[start + 3 : -2].splitlines()
    return " ".join(line.strip().lstrip("*").strip() for line in lines).strip()

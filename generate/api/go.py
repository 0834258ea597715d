"""The page of the Go module: the exports of its two packages, with the comment before each declaration."""

from __future__ import annotations

import re
from pathlib import Path

_SOURCE = Path(__file__).parents[2] / "sdks/go"
_GENERATED = ("wire.go", "version.go")
_HEAD = """\
# Go: zot/sdks/go

<!-- Generated from sdks/go by `make generate`; do not edit. -->

Every name of the Go module for extensions, and of its client for `zot rpc`. [Extensions](../extensions.md) and
[embedding](../guides/embedding.md) show how to use it.

```go
import ext "github.com/zot-agent/zot/sdks/go"
import "github.com/zot-agent/zot/sdks/go/client"
```

Frames have the fields of [extension-protocol](extension-protocol.md), events and data of the client those of
[rpc-protocol](rpc.md).
"""
_DECLARATION = re.compile(
    r"((?:^//[^\n]*\n)*)^(func (?:\(\w+ \*?[A-Z]\w*(?:\[\w+\])?\) )?[A-Z]\w*|type [A-Z(]\w*)", re.MULTILINE
)
_PACKAGE = re.compile(r"((?:^//[^\n]*\n)+)^package (\w+)", re.MULTILINE)


def page() -> str:
    parts = [_HEAD]
    for title, folder in (("ext", _SOURCE), ("client", _SOURCE / "client")):
        files = [path for path in sorted(folder.glob("*.go")) if not path.name.endswith("_test.go")]
        texts = [path.read_text(encoding="utf-8") for path in files if path.name not in _GENERATED]
        parts.append(f"## package {title}\n")
        parts += [_words(found[1]) + "\n" for text in texts for found in _PACKAGE.finditer(text) if found[1]]
        parts += [_entry(text, found) for text in texts for found in _DECLARATION.finditer(text)]
    return "\n".join(parts)


def _entry(text: str, found: re.Match[str]) -> str:
    lines = text[found.start(2) :].split("\n")
    about = _words(found[1])
    return "\n".join(["```go", *_declared(lines), "```", "", *([about, ""] if about else [])])


def _declared(lines: list[str]) -> list[str]:
    """A function's head, or a type with its exported fields."""
    if lines[0].startswith("func"):
        return [lines[0].split(" {", 1)[0] if lines[0].rstrip().endswith(("{", "}")) else lines[0]]
    if not lines[0].endswith(("{", "(")):
        return lines[:1]
    end = next(number for number, line in enumerate(lines) if line in ("}", ")"))
    body = [line.replace("\t", "    ") for line in lines[1:end] if _exported(line)]
    return [lines[0], *body, lines[end]]


def _exported(line: str) -> bool:
    return bool(re.match(r"\s+([A-Z]|//)", line))


def _words(comment: str) -> str:
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in comment.splitlines()).strip()

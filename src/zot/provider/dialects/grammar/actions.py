"""Text format of an action: a JSON line with the tool and its short arguments, then a fenced block per long text.
Small models write text better in a block than in a JSON string."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from zot.provider.dialects.grammar.schema_rules import json_text, properties_of, required_of
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import ToolSpec

FINAL = "final"
FENCE, OTHER_FENCE = "```", "~~~"
_DESCRIBED = 90  # characters

# Required strings of these names get a block; the block's label is the second word.
_BLOCKS = {
    "content": "content",
    "text": "text",
    "code": "code",
    "body": "body",
    "patch": "patch",
    "diff": "diff",
    "script": "script",
    "oldText": "old",
    "newText": "new",
    "old_text": "old",
    "new_text": "new",
    "old_string": "old",
    "new_string": "new",
    "old": "old",
    "new": "new",
}
_LANGUAGES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "md": "markdown",
    "rs": "rust",
    "rb": "ruby",
    "yml": "yaml",
    "htm": "html",
}
_SAME = frozenset({"json", "html", "css", "c", "go", "java", "toml", "yaml", "ini", "sql", "xml", "cpp"})


class ActionBlock(msgspec.Struct, frozen=True):
    name: str
    label: str


class ActionFormat(msgspec.Struct, frozen=True):
    """Format of calls of one tool. ``inside`` names the array whose object holds the blocks; ``nested`` puts the other
    arguments below ``args`` to avoid name clashes."""

    name: str
    inline: dict[str, Any]
    required: tuple[str, ...]
    blocks: tuple[ActionBlock, ...] = ()
    inside: str = ""
    nested: bool = False

    def prompt_line(self, description: str) -> str:
        pairs = "".join(f', "{name}": {_kind(self.inline[name])}' for name in self.required)
        labels = " and ".join(block.label for block in self.blocks)
        then = f" + block{'s' if len(self.blocks) > 1 else ''} {labels}" if self.blocks else ""
        return f'{{"tool": {json_text(self.name)}{pairs}}}{then}: {_first_sentence(description)}'

    def written(self, call: ToolCallBlock) -> str:
        """The call in this shape; a call that does not fit has all its arguments in one object."""
        args = call.args or {}
        texts = self._texts(args)
        known = all(name in self.inline or name == self.inside or self._is_block(name) for name in args)
        if texts is None or not known or self.nested or any(name not in args for name in self.required):
            return json_text({"tool": self.name, "args": args})
        order = [*self.required, *(name for name in self.inline if name not in self.required)]
        head = json_text({"tool": self.name, **{name: args[name] for name in order if name in args}})
        return "\n".join(
            [
                head,
                *(_fenced(block.label if len(self.blocks) > 1 else language_of(args), text) for block, text in texts),
            ]
        )

    def _is_block(self, name: str) -> bool:
        return not self.inside and any(block.name == name for block in self.blocks)

    def _texts(self, args: Mapping[str, Any]) -> list[tuple[ActionBlock, str]] | None:
        """The text of each block; None if the arguments do not fit the shape."""
        holder: Any = args
        if self.inside:
            items = args.get(self.inside)
            one = cast("list[Any]", items) if isinstance(items, list) else []
            holder = one[0] if len(one) == 1 else None
            if not isinstance(holder, dict) or len(cast("dict[str, Any]", holder)) != len(self.blocks):
                return None
        found = [(block, cast("Any", holder).get(block.name)) for block in self.blocks]
        return found if all(isinstance(text, str) for _, text in found) else None

    def arguments(self, head: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The tool's arguments, from the head and the text of each block by its name."""
        if not self.blocks:
            return dict(head)
        return {**head, **({self.inside: [dict(texts)]} if self.inside else texts)}


# Read-only tools come first: a weak model prefers what it reads first.
_ORDER = ("read", "glob", "grep", "edit", "write", "bash")


def in_order(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """In the order for a model: the important built-in ones, then the others by name."""
    return sorted(tools, key=lambda tool: (_ORDER.index(tool.name) if tool.name in _ORDER else len(_ORDER), tool.name))


def shape_of(tool: ToolSpec) -> ActionFormat:
    properties, required = properties_of(tool.schema), required_of(tool.schema)
    blocks = _blocks(properties, required)
    inside = ""
    for name in required:
        items: Any = properties[name].get("items") if isinstance(properties[name], dict) else None
        if not blocks and isinstance(items, dict) and properties[name].get("type") == "array":
            inner, needed = properties_of(cast("dict[str, Any]", items)), required_of(cast("dict[str, Any]", items))
            if found := _blocks(inner, needed):
                if len(found) == len(inner):  # plain lists may need more than one item
                    blocks, inside = found, name
                break
    taken = {inside} if inside else {block.name for block in blocks}
    inline = {name: schema for name, schema in properties.items() if name not in taken}
    return ActionFormat(
        tool.name,
        inline,
        tuple(name for name in required if name in inline),
        blocks,
        inside,
        nested="tool" in properties or "args" in properties or (not blocks and not _is_plain(tool.schema)),
    )


def _is_plain(schema: Mapping[str, Any]) -> bool:
    """True if it lists its properties: only then the names beside the tool's name are known."""
    listed = isinstance(schema.get("properties"), dict)
    return (listed or not schema or set(schema) <= {"type", "description", "title"}) and "$ref" not in schema


def _blocks(properties: Mapping[str, Any], required: tuple[str, ...]) -> tuple[ActionBlock, ...]:
    found = [ActionBlock(name, _BLOCKS[name]) for name in required if name in _BLOCKS and _is_text(properties[name])]
    return tuple(found) if len({block.label for block in found}) == len(found) else ()


def _is_text(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema  # pyright: ignore


def language_of(args: Mapping[str, Any]) -> str:
    """The language after the fence of a file's content."""
    path = args.get("path")
    ending = path.rpartition(".")[2].lower() if isinstance(path, str) else ""
    return _LANGUAGES.get(ending) or (ending if ending in _SAME else "")


def _fenced(label: str, text: str) -> str:
    fence = OTHER_FENCE if f"\n{text}".find(f"\n{FENCE[0]}") >= 0 else FENCE
    return f"{fence}{label}\n{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{fence}"


def _kind(schema: Any) -> str:
    kind = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else None
    return {"integer": "NUMBER", "number": "NUMBER", "boolean": "true", "array": "[…]", "object": "{…}"}.get(
        kind if isinstance(kind, str) else "", "TEXT"
    )


def _first_sentence(description: str) -> str:
    line = " ".join(description[:2000].split())
    sentence = line.partition(". ")[0].partition("; ")[0].removesuffix(".") or "(no description)"
    return sentence if len(sentence) <= _DESCRIBED else sentence[: _DESCRIBED - 1].rstrip() + "…"

"""The grammar of one turn: the actions a model may take.
If the transcript shows a file, an edit may only replace lines of it. A tool whose schema is too large for a grammar
accepts any JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zot.provider.dialects.grammar.actions import FENCE, FINAL, OTHER_FENCE, ActionBlock, ActionFormat, shape_of
from zot.provider.dialects.grammar.schema_rules import (
    Grammar,
    SchemaRules,
    SchemaTooLarge,
    alternatives,
    json_literal,
    json_text,
    literal,
    properties_of,
    required_of,
    rule_name,
)
from zot.provider.model_call import ToolSpec

MOST_LINES = 400  # bytes of all files in a grammar
MOST_CHARACTERS = 20_000


Values = Mapping[str, Mapping[str, Sequence[str]]]  # values by tool and argument


def action_grammar(
    tools: Sequence[ToolSpec],
    *,
    final: bool,
    files: Mapping[str, str] | None = None,
    fixed: frozenset[str] = frozenset(),
    single: bool = False,
    choices: Values | None = None,
    opening: str = "",
) -> str:
    """``files`` are known contents by path, the last seen at the end; {} allows no edit, None means unknown.
    ``fixed`` lines stay; ``single`` allows one replaced line. ``choices`` limit values of arguments, ``opening``
    begins an answer."""
    grammar = Grammar({})
    options = [
        grammar.add(
            rule_name("a", tool.name),
            _action(grammar, _narrowed(tool, choices or {}), _pieces(files, fixed, single=single)),
        )
        for tool in tools
        if files is None or files or not is_edit(shape_of(tool))
    ]
    if final or not options:
        first = "" if opening else r'[^"\\{\x5b`\x00-\x20\x7f] '  # an answer is not JSON
        grammar.rules["a-final"] = f'{literal(final_answer_text("")[:-2] + opening)} {first}char* "\\"}}"'
        options.append("a-final")
    return grammar.text(alternatives(options))


def _narrowed(tool: ToolSpec, choices: Values) -> ToolSpec:
    """The tool with only these values and without optional arguments."""
    mine = {name: list(values) for name, values in choices.get(tool.name, {}).items() if values}
    properties, required = properties_of(tool.schema), required_of(tool.schema)
    if not mine or any(name not in properties for name in mine):
        return tool
    kept = {name: {"enum": mine[name]} if name in mine else properties[name] for name in (*required, *mine)}
    return ToolSpec(tool.name, tool.description, {**tool.schema, "properties": kept, "required": list(kept)})


def final_answer_text(answer: str) -> str:
    return json_text({"tool": FINAL, "answer": answer})


def _action(grammar: Grammar, tool: ToolSpec, files: Mapping[str, list[str]]) -> str:
    shape = shape_of(tool)
    if is_edit(shape) and files:
        options: list[str] = []
        for path, pieces in files.items():
            old = grammar.add(rule_name("old"), alternatives([literal(f"{piece}\n") for piece in pieces]))
            options.append(f'{json_literal(path)} "}}\\n{FENCE}old\\n" {old} "{FENCE}"')
        named = literal(f'{{"tool": {json_text(shape.name)}, "path": ')
        return f"{named} ({alternatives(options)}) {_block(shape, shape.blocks[1])}"
    head = f'"{{" {_head(grammar, tool, shape)} "}}"'
    return " ".join([head, *(_block(shape, block) for block in shape.blocks)])


def _head(grammar: Grammar, tool: ToolSpec, shape: ActionFormat) -> str:
    named = literal(f'"tool": {json_text(tool.name)}')
    before = dict(grammar.rules)
    rules = SchemaRules(grammar, tool.name, tool.schema)
    try:
        if shape.nested:
            return f'{named} ", \\"args\\": " {_object(rules.value(tool.schema))}'
        return rules.members(shape.inline, shape.required, leading=named)
    except (SchemaTooLarge, RecursionError):
        grammar.rules = before
        return f'{named} (", " string ": " value)*' if not shape.nested else f'{named} ", \\"args\\": " object'


def _object(found: str) -> str:
    """Arguments are an object, even if the schema allows others."""
    return "object" if found == "value" else found


def _block(shape: ActionFormat, block: ActionBlock) -> str:
    label = literal(block.label) if len(shape.blocks) > 1 else "[a-z]{0,12}"
    plain = f'"\\n{FENCE}" {label} "\\n" lines "{FENCE}"'
    return f'({plain} | "\\n{OTHER_FENCE}" {label} "\\n" tildes "{OTHER_FENCE}")'


# --- edits of known files


def is_edit(shape: ActionFormat) -> bool:
    return [block.label for block in shape.blocks] == ["old", "new"] and shape.required == ("path",)


def _pieces(files: Mapping[str, str] | None, fixed: frozenset[str], *, single: bool) -> dict[str, list[str]]:
    """Replaceable pieces of each file, the last seen first, up to the size limit of a grammar."""
    found: dict[str, list[str]] = {}
    left = MOST_LINES
    for path, text in reversed(list((files or {}).items())):
        left -= text.count("\n") + 1
        pieces = _lines_of(text) if single else editable(text)
        if left >= 0 and (kept := [piece for piece in pieces if fixed.isdisjoint(piece.split("\n"))]):
            found[path] = kept
    return found


def _lines_of(text: str) -> list[str]:
    pieces = [piece for piece in editable(text) if "\n" not in piece]
    return pieces or editable(text)


def editable(text: str) -> list[str]:
    """Replaceable pieces of a text: each non-blank line with its indented block and closing bracket, if unique and
    free of fences. Empty if the text is too large for a grammar."""
    lines = text.split("\n", MOST_LINES)
    if len(lines) > MOST_LINES or len(text) > MOST_CHARACTERS:
        return []
    found = ["\n".join(lines[start : _end(lines, start) + 1]) for start, line in enumerate(lines) if line.strip()]
    return [piece for piece in found if text.count(piece) == 1 and FENCE not in piece]


def _end(lines: Sequence[str], start: int) -> int:
    depth, last = _indent(lines[start]), start
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        closes = last > start and _indent(line) == depth and line.lstrip()[0] in ")]}"
        if _indent(line) <= depth and not closes:
            break
        last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""Slow inputs for the screen and keyboard: Markdown, pages, highlighting, widths, sanitizing and keys."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from tests.conformance.hostile.row import ROWS, WIDTH, Row, fresh, rows
from zot.features.export.html_page import rendered
from zot.features.export.redaction import Redaction
from zot.frontends.terminal.editor.popups import file_mention
from zot.frontends.terminal.editor.submission import clean
from zot.system.visible_text import escape_lines, has_invisible, spelled_start
from zot.tui import inline, markdown
from zot.tui.decision_text import decision_rows
from zot.tui.keys import KeyDecoder
from zot.tui.markdown import MarkdownStream
from zot.tui.sanitize import Sanitizer, one_line, sanitize
from zot.tui.text_buffer import TextBuffer, units_of
from zot.tui.text_layout import Scroll
from zot.tui.theme import built_in
from zot.tui.width import cells, closed_lines, cut, wrap

# --- markdown

MARKS: dict[str, str | Callable[[int], Any]] = {
    "backticks": lambda n: "x" + "`" * n,
    "runs_of_backticks": lambda n: " ".join("`" * (i % 200 + 1) for i in range(n // 100 + 1)),
    "backticks_between_words": "` a ",
    "stars": "*",
    "stars_and_letters": "*a",
    "double_stars": "**a ",
    "underscores": "_a ",
    "strikes": "~~a",
    "brackets": "[",
    "open_links": "[a](",
    "half_links": "[a](b",
    "links_in_links": lambda n: "[" * (n // 2) + "](b)" * (n // 8),
    "link_titles": '[a](b "',
    "parentheses_in_a_link": lambda n: "[a](" + "(" * n,
    "long_label_and_address": lambda n: f"[{'a ' * (n // 4)}](http://{'b' * (n // 2)})",
    "many_labels_with_long_addresses": lambda n: f"[{'ab ' * 300}](http://{'b' * 2000}) " * (n // 3000 + 1),
    "angles": "<http://",
    "addresses": "http://",
    "addresses_of_punctuation": "http://,;:",
    "escapes": "\\*",
    "nested_emphasis": lambda n: "*_**" * (n // 8) + "**_*" * (n // 8),
}


def beyond_its_limit(text: str) -> None:
    """The limit is a last resort; without it, time is still proportional."""
    with patch.object(inline, "_LONGEST", sys.maxsize):
        fresh().inline.render(text)


rows("inline", beyond_its_limit, **MARKS)
rows(
    "markdown",
    lambda text: markdown.render(text, fresh(), WIDTH),
    **MARKS,
    fence_lines="```",
    fences="```\n",
    fences_of_growing_length=lambda n: "\n".join("`" * (i % 500 + 3) for i in range(n // 250 + 1)),
    open_fence=lambda n: "```\n" + "a\n" * (n // 2),
    headings="# a\n",
    hashes="#",
    rules="- ",
    rule_with_an_end=lambda n: "- " * (n // 2) + "x",
    quotes="> ",
    deep_quotes=lambda n: (">" * 50 + "a\n") * (n // 52 + 1),
    staircase_of_quotes=lambda n: "\n".join(">" * (i % 60) + "a" for i in range(n // 30 + 1)),
    items="- a\n",
    nested_items=lambda n: "\n".join(" " * (i % 100) + "- a" for i in range(n // 50 + 1)),
    numbers="1. a\n",
    delimiters="|-",
    delimiter_lines="|-\n",
    delimiters_with_an_end=lambda n: "|a|\n" + "|-" * (n // 2) + "x",
    wide_table=lambda n: "|a" * (n // 6) + "\n" + "|-" * (n // 6) + "\n" + "|b" * (n // 6),
    long_table=lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    table_of_open_code=lambda n: "|a|b|\n|-|-|\n" + "|`" * (n // 2),
    table_of_pipes=lambda n: "|a|\n|-|\n" + "\\|" * (n // 2),
    table_with_one_long_cell=lambda n: "|a|b|\n|-|-|\n|" + "x " * (n // 2) + "|y|\n",
    blank_lines="\n",
    spaces=" ",
    indented="    a\n",
    one_long_word="a",
    one_line_of_words="word ",
    emoji="👨‍👩‍👧‍👦",
    zalgo=lambda n: "e" + "\u0301" * n,
)


def streamed(text: str) -> None:
    """As a model streams it: painted again for each piece that came."""
    stream, look = MarkdownStream(), fresh()
    step = max(len(text) // 64, 1)
    for at in range(0, len(text), step):
        stream.feed(text[at : at + step])
        stream.advance(look, WIDTH)
        stream.live(look, WIDTH)
    stream.finish(look, WIDTH)


rows(
    "a streaming answer",
    streamed,
    words="word ",
    one_word="a",
    open_fence=lambda n: "```python\n" + "a = 1\n" * (n // 6),
    open_table=lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    backticks="`",
    quotes="> a\n",
    items="- a\n",
)


def token_by_token(text: str) -> None:
    stream = MarkdownStream()
    for character in text:
        stream.feed(character)
    stream.finish(fresh(), WIDTH)


rows("an answer in single characters", token_by_token, words="word ", lines="a\n")

# --- pages

rows(
    "an answer on an HTML page",
    rendered,
    words="word ",
    backticks="`",
    stars="**a ",
    links="[a](",
    quotes="> a\n",
    nested_quotes=">",
    items="- a\n",
    deeper_items=lambda n: "".join(" " * (i % 40) + "- a\n" for i in range(n // 24)),
    table=lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    open_fence=lambda n: "```python\n" + "a = 1\n" * (n // 6),
)
rows(
    "a redacted text",
    Redaction(["a secret of mine"], [("/home/me", "~")]),
    words="word ",
    one_word="a",
    dashes="-",
    keys="sk-",
    almost_tokens="eyJaaaaaaaa-",
    private_keys="-----BEGIN PRIVATE KEY-----",
    assignments="password=",
    addresses="a@a.",
    dotted="a.",
    urls="://a:",
    bearers="bearer ",
    places="/home/me",
)

# --- highlighting

CODE = {
    "python": ('"', '"""', "(", "\\", "# ", "f'{", "x = 1\n", "@", "'a' "),
    "cpp": ("/*", "#", "(", "a::", "template<", "operator", "a b ", 'R"(', "\\\n"),
    "lua": ("[[", "--[", "[=", "a.", "function ", "a:b ", "::"),
    "ini": ("[", "a", "a=", ";", " \t", "=", "a b"),
    "bash": ("$(", "${", "`", "<<a\n", "((", '"', "\\"),
    "javascript": ("/", "`", "${", "(", "<a", "=>"),
    "html": ("<", "<!--", "<a ", "&", "<script>"),
    "json": ("[", '{"a":', '"', "\\", "1"),
    "markdown": ("`", "*", "[", "# ", "- "),
    "diff": ("+", "-", "@@ ", "Index: "),
    "yaml": ("a: ", "- ", "[", "{", "&a ", "? "),
    "sql": ("'", "--", "/*", "(", "select "),
    "toml": ("[", "a=", '"""', "'"),
    "rust": ("/*", "r#", "'", "<", "b'"),
    "go": ("/*", "`", "'", "("),
    "css": ("{", "/*", "@", ":", "a,"),
    "xml": ("<", "<!--", "<![CDATA["),
    "make": ("$(", "\\\n", "a:", "\t"),
}


def coloured(given: tuple[str, str]) -> None:
    language, code = given
    fresh().code.lines(code, language)


for language, pieces in CODE.items():
    for piece in pieces:
        ROWS.append(
            Row(
                f"{language} in colours: {piece!r}",
                lambda n, language=language, piece=piece: (language, piece * (min(n, 50_000) // len(piece))),
                coloured,
                8192,
                lambda n: 0.1 + 16e-6 * n,
            )
        )

for language, piece in (("cpp", "a::"), ("cpp", "#"), ("lua", "[="), ("ini", "="), ("ini", "a b")):
    whole = piece * (50_000 // len(piece))
    ROWS.append(
        Row(
            f"50 KB of {language} in colours: {piece!r}",
            lambda n, language=language, whole=whole: (language, whole),
            coloured,
            50_000,
            lambda n: 0.1 + 16e-6 * n,
        )
    )

# --- widths

WIDE: dict[str, str | Callable[[int], Any]] = {
    "letters": "a",
    "words": "word ",
    "wide_characters": "漢",
    "closing_marks": "。",
    "words_with_closing_marks": "漢。",
    "families": "👨‍👩‍👧‍👦",
    "joiners": "\u200d",
    "joined_for_ever": "👩\u200d",
    "flags": "🇩🇪",
    "flag_letters": "🇩",
    "skin_tones": "👍🏽",
    "tones_alone": "🏽",
    "variation_selectors": lambda n: "❤" + "\ufe0f" * n,
    "combining_marks": lambda n: "e" + "\u0301" * n,
    "letters_with_marks": "e\u0301",
    "hangul_jamo": "\u1100\u1161",
    "jamo_without_end": lambda n: "\u1100" * n,
    "indic_conjuncts": "\u0915\u094d",
    "prepended_marks": "\u0600",
    "styles": "\x1b[1m",
    "styles_and_letters": "\x1b[1ma",
    "long_style_before_a_long_text": lambda n: f"\x1b[{'1;' * (n // 4)}m{'a' * (n // 2)}",
    "long_link_before_a_long_text": lambda n: f"\x1b]8;;{'b' * (n // 2)}\x1b\\{'a ' * (n // 4)}",
    "half_styles": "\x1b[1;",
    "half_links": "\x1b]8;;",
    "links": "\x1b]8;;a\x1b\\b",
    "saved_cursors": "\x1b7",
    "drawings": "\x1b7a\x1b8",
    "restored_cursors": "a\x1b8",
    "spaces": " ",
    "tabs": "\t",
    "line_breaks": "\n",
    "style_on_every_line": "\x1b[1ma\n",
    "styles_in_clusters": "e\x1b[1m\u0301",
}
for reader, read in {
    "cells": cells,
    "cut": lambda text: cut(text, WIDTH),
    "cut nearly all": lambda text: cut(text, max(cells(text) - 1, 1)),
    "wrap": lambda text: wrap(text, WIDTH, "  "),
}.items():
    rows(reader, read, **WIDE)
STYLED = {name: text for name, text in WIDE.items() if "style" in name or "link" in name or "mark" in name}
rows("wrap to one cell", lambda text: wrap(text, 1), **STYLED)
rows("closed lines", closed_lines, **STYLED)

# --- what makes text safe, or visible

CONTROLS: dict[str, str | Callable[[int], Any]] = {
    **WIDE,
    "escapes": "\x1b",
    "sequences": "\x1b[0",
    "unfinished_parameters": lambda n: "\x1b[" + "0;" * (n // 2),
    "parameters_and_garbage": lambda n: "\x1b[" + "0" * n + "\x00",
    "intermediates": lambda n: "\x1b[" + " " * n,
    "intermediates_after_escape": lambda n: "\x1b" + " " * n,
    "titles": "\x1b]0;a",
    "open_title": lambda n: "\x1b]0;" + "a" * n,
    "device_strings": "\x1bP",
    "c1": "\x9b\x9d",
    "concealed": lambda n: "\x1b[" + "8;" * (n // 2) + "m",
    "colours": lambda n: "\x1b[" + "38;5;8;" * (n // 7) + "m",
    "styles_with_conceal": "\x1b[8;1m",
    "returns": "\r",
    "bidi": "\u202e",
    "nul": "\0",
}


def in_small_pieces(text: str) -> None:
    sanitizer = Sanitizer()
    for at in range(0, len(text), 16):
        sanitizer.feed(text[at : at + 16])
    sanitizer.close()


rows("sanitize", sanitize, **CONTROLS)
SOME = {name: text for name, text in CONTROLS.items() if name not in WIDE}
for reader, read in {
    "sanitize a stream": in_small_pieces,
    "decide": lambda text: decision_rows(text, "fg", built_in(), WIDTH),
    "one line": one_line,
    "paste": clean,
    "spell": escape_lines,
    "spell the beginning": lambda text: spelled_start(text, 1000),
    "hidden": has_invisible,
}.items():
    rows(reader, read, **SOME)

# --- the keyboard

KEYS: dict[str, str | bytes | Callable[[int], Any]] = {
    "letters": b"a",
    "controls": b"\x01",
    "controls_and_letters": b"\x01a",
    "escapes": b"\x1b",
    "escaped_letters": b"\x1ba",
    "sequences": b"\x1b[A",
    "half_sequences": b"\x1b[1;",
    "long_sequence": lambda n: b"\x1b[" + b"1;" * (n // 2) + b"A",
    "open_sequence": lambda n: b"\x1b[" + b"1;" * (n // 2),
    "replies": b"\x1b]11;a\x07",
    "open_reply": lambda n: b"\x1b]" + b"a" * n,
    "half_replies": b"\x1b]",
    "pastes": b"\x1b[200~a\x1b[201~",
    "open_paste": lambda n: b"\x1b[200~" + b"a" * n,
    "half_ends_of_a_paste": lambda n: b"\x1b[200~" + b"\x1b[201" * (n // 5),
    "mouse": b"\x1b[M   ",
    "bad_bytes": b"\xff",
    "c1": "\x9b".encode(),
    "wide": "漢".encode(),
}
rows("keys", lambda data: KeyDecoder().feed(data), **KEYS)


def typed_slowly(data: bytes) -> None:
    decoder = KeyDecoder()
    for at in range(0, len(data), 7):
        decoder.feed(data[at : at + 7])
    decoder.flush()


rows("keys in pieces", typed_slowly, start=1 << 12, **KEYS)


def edited(text: str) -> None:
    buffer = TextBuffer()
    buffer.insert(units_of(text))
    Scroll().window(buffer, WIDTH, 10)
    file_mention(buffer)


rows("the editor", edited, **WIDE, mentions="@a/", at_signs="@")

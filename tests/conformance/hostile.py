"""Texts made to be slow, for each reader and renderer of what comes from outside: a generator per grammar, any size."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from tests.fakes.event_frames import event_frame, frame
from zot.agent.export.markdown_html import rendered
from zot.agent.export.redaction import Redaction
from zot.agent.extensions.loading.manifest import read_manifest
from zot.agent.hooks.answers import answer_of
from zot.agent.hooks.conditions import command_fits
from zot.agent.hooks.config import Hook
from zot.agent.hooks.host import exported
from zot.agent.hooks.running import Ran
from zot.agent.mcp.comments import without_comments
from zot.agent.mcp.login import challenge_words
from zot.agent.mcp.param_headers import fault
from zot.agent.mcp.results import converted
from zot.agent.mcp.schemas import usable
from zot.agent.mcp.wire import fields, read_message
from zot.agent.modes.interactive.dialogs.call_text import call_rows
from zot.agent.modes.interactive.dialogs.confirm import is_dangerous
from zot.agent.modes.interactive.editor.file_index import PathMatcher
from zot.agent.modes.interactive.editor.paste import clean
from zot.agent.modes.interactive.editor.popups import file_mention
from zot.agent.modes.interactive.screen import tool_bodies
from zot.agent.modes.interactive.screen.bash_text import read_bash
from zot.agent.modes.interactive.screen.tool_view import ToolView
from zot.agent.recording.reading import read_recording
from zot.agent.replaying.comparing import excerpts
from zot.agent.replaying.showing import STRANGE, Shown
from zot.agent.skills import discover
from zot.agent.templates.filling import filled
from zot.agent.templates.finding import Template
from zot.agent.tools.bash_output import OutputCapture
from zot.agent.tools.edit_diff import Span, diff_of
from zot.agent.tools.ignore import Rules, regex_of
from zot.core.session.resume import replay
from zot.core.session.row_file import read_lines
from zot.core.session.summary import summarise
from zot.core.summary_text import serialise
from zot.errors import ZotError
from zot.provider.auth.oauth.callback import read_pasted, read_query
from zot.provider.auth.oauth.id_token import account_name, claims_of
from zot.provider.dialects.anthropic import AnthropicDialect
from zot.provider.dialects.bedrock import BedrockDialect
from zot.provider.dialects.dialect import Dialect, Endpoint
from zot.provider.dialects.gemini import GeminiDialect
from zot.provider.dialects.gemini_schema import accepted
from zot.provider.dialects.grammar.action_grammar import action_grammar, editable
from zot.provider.dialects.grammar.asking import for_file
from zot.provider.dialects.grammar.decoder import read_blocks
from zot.provider.dialects.grammar.dialect import GrammarDialect
from zot.provider.dialects.grammar.quoting import likely_lines
from zot.provider.dialects.grammar.task_words import read_task
from zot.provider.dialects.openai_chat import OpenAIChatDialect
from zot.provider.dialects.openai_responses import OpenAIResponsesDialect
from zot.provider.failures import failure
from zot.provider.http.eventstream import EventStreamParser
from zot.provider.http.message import ChunkedBody, body_of, split_head
from zot.provider.http.route import parse_url
from zot.provider.http.sse import SseEvent, SseParser
from zot.provider.messages import user_message
from zot.provider.model import Model
from zot.provider.model_call import Request, ToolSpec
from zot.provider.recorded_answers import turns_of
from zot.provider.retry import retry_after
from zot.provider.secrets import without
from zot.system import strict_json
from zot.system.spelled import has_hidden, spelled_lines, spelled_start
from zot.tui import diff, inline, markdown, theme_file
from zot.tui.decide import decision_rows
from zot.tui.fuzzy import Pattern
from zot.tui.image import dimensions
from zot.tui.keys import KeyDecoder
from zot.tui.markdown import MarkdownStream, Painter
from zot.tui.partial_json import string_fields
from zot.tui.sanitize import Sanitizer, one_line, sanitize
from zot.tui.text_buffer import TextBuffer, units_of
from zot.tui.text_layout import Scroll
from zot.tui.theme import built_in
from zot.tui.width import cells, closed_lines, cut, wrap
from zot.wire.codec import decode_child, decode_host
from zot.wire.lines import Lines
from zot.wire.rpc_codec import BadCommand, decode_command

WIDTH = 80


class Row(NamedTuple):
    """``made`` gives a text of about so many characters; ``read`` is what must be quick."""

    name: str
    made: Callable[[int], Any]
    read: Callable[[Any], object]
    start: int = 256
    allowed: Callable[[int], float] | None = None  # the seconds it may take, where a limit holds it and no grammar


ROWS: list[Row] = []


def rows(
    reader: str, read: Callable[[Any], object], /, *, start: int = 256, **texts: str | bytes | Callable[[int], Any]
) -> None:
    """One row for each text; a plain one is repeated to the size. ``start`` is beyond what is held as it comes."""
    for name, text in texts.items():
        made = text if callable(text) else lambda n, text=text: text * (n // len(text) + 1)
        ROWS.append(Row(f"{reader}: {name.replace('_', ' ')}", made, read, start))


def quietly(read: Callable[[Any], object], *errors: type[BaseException]) -> Callable[[Any], object]:
    """A refusal is an answer."""

    def reads(given: Any) -> None:
        with suppress(*errors):
            read(given)

    return reads


def every_word(text: str) -> object:
    task = read_task(text)
    return task.commands, task.file_names, task.search_words, task.literal_words, task.is_about("a.py")


@cache
def painter() -> Painter:
    return Painter.of(built_in(), links=True)


def fresh() -> Painter:
    """One that remembers nothing, so that every run does the work."""
    return Painter.of(built_in(), links=True)


def per_line(text: str, size: int) -> Callable[[int], str]:
    """Lines of so many repetitions each."""
    return lambda n: (text * size + "\n") * (n // (len(text) * size + 1) + 1)


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
    """The limit is for what nobody thought of; without it, time is in proportion all the same."""
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
    "spell": spelled_lines,
    "spell the beginning": lambda text: spelled_start(text, 1000),
    "hidden": has_hidden,
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

# --- HTTP and its streams


def events(data: bytes) -> None:
    parser = SseParser()
    for at in range(0, len(data), 1024):
        parser.feed(data[at : at + 1024])
    parser.close()


def events_byte_by_byte(data: bytes) -> None:
    parser = SseParser()
    for at in range(len(data)):
        parser.feed(data[at : at + 1])
    parser.close()


SSE: dict[str, str | bytes | Callable[[int], Any]] = {
    "events": b"data: a\n\n",
    "lines": b"data: a\n",
    "empty_lines": b"data:\n",
    "returns": b"\r",
    "comments": b": a\n",
    "names": lambda n: b"".join(b"event: %d\ndata: a\n\n" % i for i in range(n // 20 + 1)),
    "one_long_line": lambda n: b"data: " + b"a" * n,
    "marks": b"\xef\xbb\xbf",
    "fields": b"a: b\n",
}
rows("events", quietly(events, ZotError), **SSE)
rows("events byte by byte", quietly(events_byte_by_byte, ZotError), **SSE)


def head(data: bytes) -> None:
    if (split := split_head(data)) is not None:
        body_of(split[0])


STATUS = b"HTTP/1.1 200 OK\r\n"
rows(
    "a response head",
    quietly(head, ZotError),
    headers=lambda n: STATUS + b"a: b\r\n" * (n // 6) + b"\r\n",
    one_header=lambda n: STATUS + b"a: " + b"b" * n + b"\r\n\r\n",
    lengths=lambda n: STATUS + b"content-length: " + b"1," * (n // 2) + b"1\r\n\r\n",
    digits=lambda n: STATUS + b"content-length: " + b"1" * n + b"\r\n\r\n",
    no_end=lambda n: STATUS + b"a: b\r\n" * (n // 6),
    reason=lambda n: b"HTTP/1.1 200 " + b"a" * n + b"\r\n\r\n",
)


def chunks(data: bytes) -> None:
    body = ChunkedBody()
    for at in range(0, len(data), 512):
        if not body.done:
            body.feed(data[at : at + 512])


rows(
    "chunks",
    quietly(chunks, ZotError),
    small=b"1\r\na\r\n",
    extensions=b"1;a=b\r\na\r\n",
    one=lambda n: b"%x\r\n" % n + b"a" * n + b"\r\n",
    digits=lambda n: b"0" * n,
    trailers=lambda n: b"0\r\n" + b"a: b\r\n" * (n // 6),
)
rows(
    "an address",
    quietly(parse_url, ZotError),
    host=lambda n: f"http://{'a' * n}/",
    parts=lambda n: f"http://{'a.' * (n // 2)}/",
    port=lambda n: f"http://a:{'9' * n}/",
    path=lambda n: f"http://a/{'ä' * (n // 2)}",
    names=lambda n: f"http://{'a@' * (n // 2)}b/",
    unicode=lambda n: f"http://{'ä' * (n // 2)}/",
)
for returned, takes in (("a callback", read_query), ("what is pasted of a login", read_pasted)):
    rows(
        returned,
        quietly(lambda text, takes=takes: takes(text, "state"), ValueError),
        fields="a=b&",
        codes="code=",
        code=lambda n: f"code={'c' * n}&state=state",
        percents=lambda n: f"code={'%41' * (n // 3)}",
        error=lambda n: f"error={'e' * n}&state=state",
        signs="&",
        states="#state",
        marks="?code=a",
    )
rows(
    "an id token",
    lambda text: (claims_of(text), account_name(text)),
    dots=".",
    letters=lambda n: f"a.{'A' * n}.c",
    signs=lambda n: f"a.{'=+/' * (n // 3)}.c",
    braces=lambda n: f"a.{'e3t7' * (n // 4)}.c",
)
MESSAGES: dict[str, str | bytes | Callable[[int], Any]] = {
    "braces": b'{"result":',
    "lists": lambda n: b'{"result":' + b"[" * n,
    "keys": lambda n: b'{"id":1,"result":{' + b'"a":1,' * (n // 6) + b'"b":1}}',
    "content": lambda n: b'{"id":1,"result":{"content":[' + b'{"type":"text","text":"a"},' * (n // 27) + b"{}]}}",
    "a_text": lambda n: b'{"id":1,"result":{"content":[{"type":"text","text":"' + b"a" * n + b'"}]}}',
    "properties": lambda n: b'{"id":1,"result":{"properties":{' + b'"a":{"$ref":"#"},' * (n // 17) + b'"b":{}}}}',
    "nothing": b" ",
}


def heard_of_a_server(data: bytes) -> None:
    message = read_message(data)
    if message is not None:
        converted("s", "t", message.result)
        usable(fields(message.result))
        fault(fields(message.result))


rows("a message of an MCP server", heard_of_a_server, **MESSAGES)
rows(
    "a file with comments",
    without_comments,
    slashes=b"/",
    stars=b"/*",
    lines=b"//\n",
    commas=b",",
    quotes=b'"',
    escapes=b'"\\',
)
rows("a challenge of an MCP server", challenge_words, names="a", signs="=", quotes='a="', pairs='a="b",', blanks="a ")
rows("a date to wait for", lambda text: retry_after({"retry-after": text}, 0.0), digits="9", commas=",", words="Mon ")
rows("a refusal", lambda data: failure("x", 400, {}, data), braces=b"{", objects=b'{"a":', text=b"a", quotes=b'"')
rows("a page as a refusal", lambda data: failure("x", 502, {}, data), tags=b"<", scripts=b"<script", titles=b"<title>")
SECRETS = frozenset({"ab" * 20, "a" * 40})
rows("keys out of a text", lambda text: without(text, SECRETS), alike="ab", other="x", letters="a")


def answers(dialect: Dialect, name: str = "") -> Callable[[list[bytes]], None]:
    model = Model(id="m", provider="p", max_output=100)
    request = Request(model=model, messages=(user_message("hi"),), tools=(ToolSpec("read", "", {}),))

    def decoded(events: list[bytes]) -> None:
        decoder = dialect.decoder(request, Endpoint(provider="p", base_url="http://a", api_key="k"))
        for event in events:
            decoder.feed(SseEvent(name, event))
        decoder.end_of_input()

    return decoded


def repeated(*events: str) -> Callable[[int], list[bytes]]:
    return lambda n: [
        event.replace("#", str(i)).encode() for i, event in islice(enumerate(cycle(events)), max(n // 64, 1))
    ]


DELTA = '{"type":"content_block_delta","index":%s,"delta":{"type":"%s"}}'
rows(
    "Anthropic's events",
    answers(AnthropicDialect()),
    texts=repeated(DELTA.replace('%s"}', 'text_delta","text":"a"}') % 0),
    blocks=repeated('{"type":"content_block_start","index":#,"content_block":{"type":"text","text":"a"}}'),
    tools=repeated('{"type":"content_block_start","index":#,"content_block":{"type":"tool_use","id":"#","name":"a"}}'),
    signatures=repeated(
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"aaaaaaaa"}}',
    ),
    pings=repeated('{"type":"ping"}'),
    garbage=repeated('{"type":'),
)
CALL = '{"choices":[{"delta":{"tool_calls":[{%s"function":{"name":"a","arguments":"{"}}]}}]}'
rows(
    "Chat Completions' events",
    answers(OpenAIChatDialect()),
    texts=repeated('{"choices":[{"delta":{"content":"a"}}]}'),
    thoughts=repeated('{"choices":[{"delta":{"reasoning":"a"}}]}'),
    calls=repeated(CALL % '"index":#,"id":"c#",'),
    calls_without_an_index=repeated(CALL % '"id":"c#",'),
    calls_without_anything=repeated(CALL % ""),
    endings=repeated('{"choices":[{"finish_reason":"tool_calls"}]}', CALL % '"index":#,"id":"c#",'),
    endings_of_one_call=repeated('{"choices":[{"finish_reason":"tool_calls"}]}', CALL % '"index":0,"id":"c",'),
)
SPOKEN = '{"choices":[{"delta":{"content":"%s"}}]}'
rows(
    "events of a model held by a grammar",
    answers(GrammarDialect()),
    texts=repeated(SPOKEN % "a"),
    braces=repeated(SPOKEN % "{"),
    blanks=repeated(SPOKEN % " "),
    names=lambda n: [(SPOKEN % r"{\"tool\": \"").encode(), *repeated(SPOKEN % "a")(n)],
    calls=lambda n: [(SPOKEN % r"{\"tool\": \"read\", ").encode(), *repeated(SPOKEN % "a")(n)],
    endings=repeated(SPOKEN % r"{\"tool\": \"read\"}", '{"choices":[{"finish_reason":"stop"}]}'),
)
rows(
    "blocks of an action",
    read_blocks,
    fences="```\n",
    open_fences="```a\n\n",
    ticks="`",
    both="~~~\n```\n~~~\n",
)
rows(
    "the block of a reply",
    for_file("Set x.", "a.py", {}).call_args,
    fences="```\n",
    open_fences="```a\n\n",
    ticks="`",
)
rows(
    "words of a task",
    every_word,
    words="run the a.py ",
    names="a/b.c/",
    ticks="`ls ",
    quotes='"ab ',
    dots="a.",
    lines="_a-",
    ends="? ",
    commands="python3 -m a -b ",
)
rows(
    "lines a question is about",
    lambda text: likely_lines("What is the default of a1 b2?", {"a": text}),
    lines="a1\n",
    words="default b2 ",
    digits="1.",
)
rows(
    "lines that can be edited",
    editable,
    lines="a\n",
    steps=lambda n: "\n".join(" " * (i % 90) + str(i) for i in range(n // 50)),
)
rows(
    "Responses' events",
    answers(OpenAIResponsesDialect()),
    items=repeated('{"type":"response.output_item.added","output_index":#,"item":{"type":"message","id":"#"}}'),
    texts=repeated(
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"0"}}',
        '{"type":"response.output_text.delta","output_index":0,"delta":"a"}',
    ),
    calls=repeated(
        '{"type":"response.output_item.added","output_index":#,"item":{"type":"function_call","call_id":"#","name":"a"}}'
    ),
    paragraphs=repeated(
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"0"}}',
        '{"type":"response.reasoning_summary_part.added","output_index":0}',
        '{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"a"}',
    ),
)

PARTS = '{"candidates":[{"content":{"parts":[%s]}}]}'
rows(
    "Gemini's events",
    answers(GeminiDialect()),
    texts=repeated(PARTS % '{"text":"a"}'),
    thoughts=repeated(PARTS % '{"text":"a","thought":true}'),
    signatures=repeated(PARTS % '{"text":"a","thoughtSignature":"aaaa"}'),
    signed_nothing=repeated(PARTS % '{"text":"","thoughtSignature":"aaaa"}'),
    calls=repeated(PARTS % '{"functionCall":{"name":"a","id":"#","args":{"a":1}}}'),
    parts=lambda n: [(PARTS % ",".join(['{"text":"a"}'] * (n // 12))).encode()],
    candidates=lambda n: [b'{"candidates":[' + b"{}," * (n // 3) + b"{}]}"],
)
rows(
    "Bedrock's events",
    answers(BedrockDialect(), "contentBlockDelta"),
    texts=repeated('{"contentBlockIndex":0,"delta":{"text":"a"}}'),
    blocks=repeated('{"contentBlockIndex":#,"delta":{"text":"a"}}'),
    thoughts=repeated('{"contentBlockIndex":#,"delta":{"reasoningContent":{"text":"a"}}}'),
    seals=repeated('{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"aaaa"}}}'),
    garbage=repeated('{"delta":'),
)
rows(
    "Bedrock's calls",
    answers(BedrockDialect(), "contentBlockStart"),
    calls=repeated('{"contentBlockIndex":#,"start":{"toolUse":{"toolUseId":"#","name":"a"}}}'),
)


def framed(data: bytes) -> None:
    parser = EventStreamParser()
    for at in range(0, len(data), 7):
        parser.feed(data[at : at + 7])
    parser.close()


rows(
    "Amazon's frames",
    quietly(framed, ZotError),
    small=event_frame("x", {}),
    empty=frame({}, b""),
    one=lambda n: event_frame("x", {"a": "a" * n}),
    headers=lambda n: frame({f"{i:09}": "" for i in range(min(n, 120_000) // 12)}, b"a" * n),
    one_header=lambda n: frame({"h": "a" * min(n, 65_000)}, b"a" * n),
    garbage=b"\xff",
    zeros=b"\0",
)
rows(
    "a schema for Gemini",
    accepted,
    properties=lambda n: {"type": "object", "properties": {str(i): {"type": "string"} for i in range(n // 9)}},
    choices=lambda n: {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * (n // 9)}}},
    both_of=lambda n: {
        "type": "object",
        "properties": {"a": {"allOf": [{"required": [str(i)]} for i in range(n // 40)]}},
    },
    both_of_themselves=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {str(i): {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 2} for i in range(n // 40)},
    },
    twins=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {
            str(i): {"type": "object", "properties": {k: {"$ref": f"#/$defs/{i + 1}"} for k in "ab"}}
            for i in range(n // 40)
        },
    },
)

rows(
    "a schema for a grammar",
    lambda schema: action_grammar((ToolSpec("a", "", schema),), final=True),
    properties=lambda n: {"type": "object", "properties": {str(i): {"type": "string"} for i in range(n // 9)}},
    choices=lambda n: {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * (n // 9)}}},
    words=lambda n: {"type": "object", "properties": {"a": {"enum": [str(i) for i in range(n // 9)]}}},
    long_name=lambda n: {"type": "object", "properties": {"a" * n: {}}, "required": ["a" * n]},
    twins=lambda n: {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {
            str(i): {"type": "object", "properties": {k: {"$ref": f"#/$defs/{i + 1}"} for k in "ab"}}
            for i in range(n // 40)
        },
    },
    itself=lambda n: {"type": "object", "properties": {"a": {"$ref": "#"}, "b" * n: {"$ref": "#"}}},
)

# --- JSON, frames, commands

JSON: dict[str, str | bytes | Callable[[int], Any]] = {
    "arrays": b"[",
    "objects": b'{"a":',
    "closed_arrays": lambda n: b"[" * (n // 2) + b"]" * (n // 2),
    "wide_array": lambda n: b"[" + b"1," * (n // 2) + b"1]",
    "empty_arrays": lambda n: b"[" + b"[]," * (n // 3) + b"1]",
    "one_key_many_times": lambda n: b"{" + b'"a":1,' * (n // 6) + b'"a":1}',
    "one_key_twice_at_the_end": lambda n: b"{" + b"".join(b'"%d":1,' % i for i in range(n // 9)) + b'"0":1}',
    "keys_spelled_differently": lambda n: b"{" + b"".join(b'"%d" :1,' % i for i in range(n // 9)) + b'"x":1}',
    "digits": lambda n: b"1" * n,
    "many_long_numbers": lambda n: b"[" + b"1111111111111111111," * (n // 20) + b"1]",
    "fractions": lambda n: b"0." + b"1" * n,
    "exponents": lambda n: b"1e" + b"9" * n,
    "a_string": lambda n: b'"' + b"a" * n + b'"',
    "escapes": lambda n: b'"' + b"\\n" * (n // 2) + b'"',
    "unicode": lambda n: b'"' + b"\\u00e9" * (n // 6) + b'"',
    "surrogates": lambda n: b'"' + b"\\ud800" * (n // 6) + b'"',
    "open_string": lambda n: b'"' + b'\\"' * (n // 2),
    "escaped_quotes": b'\\"',
    "quotes": b'"',
    "brackets_in_strings": lambda n: b'["' + b"[" * n + b'"' + b",[]" * 70 + b"]",
    "spaces": b" ",
    "bad_utf8": b"\xff",
}
FRAME: dict[str, str | bytes | Callable[[int], Any]] = {
    **JSON,
    "a_note": lambda n: b'{"type":"notify","message":"' + b"a" * n + b'"}',
    "duplicate_keys_in_a_frame": lambda n: b'{"type":"notify",' + b'"message":"a",' * (n // 14) + b'"level":"info"}',
    "unknown_keys": lambda n: (
        b'{"type":"notify",' + b"".join(b'"k%d":1,' % i for i in range(n // 9)) + b'"message":"a"}'
    ),
    "nulls": lambda n: b'{"type":"notify",' + b"".join(b'"k%d":null,' % i for i in range(n // 12)) + b'"message":"a"}',
    "duplicate_keys_within": lambda n: (
        b'{"type":"tool_result","id":"1","details":{' + b'"a":1,' * (n // 6) + b'"b":1}}'
    ),
}
for reader, read, error in (
    ("strict JSON", strict_json.loads, ValueError),
    ("a frame of an extension", decode_child, ZotError),
    ("a frame of the host", decode_host, ZotError),
    ("a command of RPC", decode_command, BadCommand),
    ("a manifest", lambda data: read_manifest(Path("/nowhere"), data), ZotError),
):
    rows(reader, quietly(read, error), **FRAME)


def in_lines(data: bytes) -> None:
    lines = Lines(1 << 20)
    for at in range(0, len(data), 13):
        lines.feed(data[at : at + 13])
    lines.rest()


rows("lines", in_lines, one=b"a", empty=b"\n", short=b"a\n")

ARGUMENTS: dict[str, str | bytes | Callable[[int], Any]] = {
    "a_file": lambda n: '{"path":"a.py","content":"' + "a\\n" * (n // 3),
    "fields": '{"a":"b",',
    "quotes": '"',
    "escapes": lambda n: '{"a":"' + "\\" * n,
    "escaped_quotes": lambda n: '{"a":"' + '\\"' * (n // 2),
    "half_characters": lambda n: '{"a":"' + "\\u12" * (n // 4),
    "colons": ":",
    "braces": "{[",
    "edits": lambda n: '{"path":"a.py","edits":[' + '{"oldText":"a","newText":"b"},' * (n // 30),
}
rows("arguments that arrive", lambda text: list(string_fields(text)), **ARGUMENTS)
for tool in ("write", "edit", "bash"):
    rows(f"the box of {tool}", lambda text, t=tool: ToolView("1", t, text).lines(fresh(), WIDTH), **ARGUMENTS)

# --- sessions

MESSAGE = '{"type":"message","message":{"role":"%s","content":[%s],"time":"2026-01-01T00:00:00Z"}}\n'
TEXT = '{"type":"text","text":"a"}'
META = '{"type":"meta","meta":{"id":"a","cwd":"/","model":"m"}}\n'
SUMMARY = '{"type":"compaction","keep_tail":%d,"message":{"role":"user","content":[%s]}}\n'


def called(n: int) -> str:
    count = n // 80 + 1
    calls = ",".join(f'{{"type":"tool_call","id":"{i}","name":"a","arguments":{{}}}}' for i in range(count))
    results = "".join(
        MESSAGE % ("tool", f'{{"type":"tool_result","call_id":"{i}","content":[{TEXT}]}}') for i in range(count)
    )
    return META + MESSAGE % ("assistant", calls) + results


SESSION: dict[str, str | bytes | Callable[[int], Any]] = {
    "messages": lambda n: META + MESSAGE % ("user", TEXT) * (n // 100 + 1),
    "calls": called,
    "calls_without_results": lambda n: (
        META + (MESSAGE % ("assistant", '{"type":"tool_call","id":"1","name":"a","arguments":{}}')) * (n // 130 + 1)
    ),
    "one_message_of_many_calls": lambda n: (
        META
        + MESSAGE
        % (
            "assistant",
            ",".join(f'{{"type":"tool_call","id":"{i}","name":"a","arguments":{{}}}}' for i in range(n // 60 + 1)),
        )
    ),
    "compactions": lambda n: META + (MESSAGE % ("user", TEXT) + SUMMARY % (1, TEXT)) * (n // 200 + 1),
    "compactions_that_keep_all": lambda n: (
        META + (MESSAGE % ("user", TEXT)) * (n // 200 + 1) + (SUMMARY % (10**9, TEXT)) * (n // 200 + 1)
    ),
    "rows_of_strangers": '{"type":"a"}\n',
    "torn_rows": '{"type":"mess\n',
    "one_torn_row": '{"type":"message","message":{"role":"user",',
    "blank_rows": "\n",
    "blocks": lambda n: META + MESSAGE % ("user", ",".join([TEXT] * (n // 27 + 1))),
    "metas": META,
    "names": '{"type":"rename","title":"a"}\n',
    "tool_rows": '{"type":"tool_intent","call_id":"1"}\n',
    "bad_bytes": "\udcff\n",
    "deep": lambda n: META + MESSAGE % ("user", '{"content":[' * (n // 12)),
}


def resumed(text: str) -> None:
    state = replay(read_lines(io.BytesIO(os.fsencode(text))))
    state.finish()
    serialise(state.messages, 10_000)


def summarised(text: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.fsencode(text))
        file.flush()
        summarise(Path(file.name))


rows("a session", resumed, **SESSION)
rows("the summary of a session", summarised, **SESSION)

HEADER = '{"type":"header","t":0,"format":2}\n'
RECORDING: dict[str, str | bytes | Callable[[int], Any]] = {
    "deltas": lambda n: (
        HEADER + '{"type":"stream","t":0,"n":1,"kind":"TextDelta","value":{"text":"a b "}}\n' * (n // 70 + 1)
    ),
    "lines_of_strangers": lambda n: HEADER + '{"type":"a"}\n' * (n // 13 + 1),
    "blank_lines": lambda n: HEADER + "\n" * n,
    "one_line": lambda n: HEADER[:-2] + ',"x":"' + "a" * n + '"}',
    "a_deep_line": lambda n: HEADER + "[" * n,
    "events": lambda n: HEADER + '{"type":"event","t":0,"event":{"type":"turn_start","step":1}}\n' * (n // 60 + 1),
    "progress": lambda n: HEADER + '{"type":"progress","t":0,"id":"1","text":"a"}\n' * (n // 45 + 1),
    "answers": lambda n: (
        HEADER
        + "".join(
            f'{{"type":"stream","n":{i},"kind":"TextDelta","value":{{"text":"a"}}}}\n' for i in range(n // 60 + 1)
        )
    ),
}


def shown_again(text: str) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.fsencode(text))
        file.flush()
        shown = Shown(WIDTH, colours=False)
        for line in read_recording(file.name).lines:
            with suppress(*STRANGE):
                shown.hear(line)
                shown.rows()


def answered_again(text: str) -> None:
    turns_of(line for line in os.fsencode(text).split(b"\n") if line)


rows("a recording", quietly(shown_again, ZotError), **RECORDING)
rows("the answers in a recording", answered_again, **RECORDING)
rows("lines of two recordings", lambda text: excerpts(text, text + "x"), text="a b", quotes='"\\')

# --- files of a project


def skill(text: str) -> None:
    discover.parse(discover.split(text)[0])


rows(
    "the head of a skill",
    skill,
    rules="---\n",
    keys=lambda n: "---\n" + "a: b\n" * (n // 5) + "---\n",
    one_list=lambda n: "---\nallowed-tools: [" + "a," * (n // 2) + "]\n---\n",
    open_quotes=lambda n: "---\nallowed-tools: [" + '"a,' * (n // 3) + "]\n---\n",
    escaped_quotes=lambda n: "---\nallowed-tools: [" + '"\\",' * (n // 4) + "]\n---\n",
    single_quotes=lambda n: "---\nallowed-tools: [" + "'" * n + "]\n---\n",
    description=lambda n: "---\ndescription: >\n" + "  a\n" * (n // 4) + "---\n",
    quoted_description=lambda n: '---\ndescription: "' + "\\n" * (n // 2) + '"\n---\n',
    permissions=lambda n: "---\npermissions:\n" + "  a: [b]\n" * (n // 9) + "---\n",
    deep_permissions=lambda n: (
        "---\npermissions:\n" + "\n".join(" " * (i % 200) + "a:" for i in range(n // 100)) + "\n---"
    ),
    blocks=lambda n: "---\nname: >" + "+" * n + "\n---\n",
    no_end=lambda n: "---\n" + "a: b\n" * (n // 5),
    spaces=lambda n: " " * n + "---\n",
)


def template(text: str) -> None:
    filled(Template("t", Path("t.md"), "project", body=text), "a 'b c' d")


rows(
    "a prompt template and its arguments",
    template,
    places=lambda n: "$1" * (n // 2),
    all_of_it=lambda n: "a" * (n - 20) + " $ARGUMENTS",
    dollars="$",
    commands="!`",
    open_commands=lambda n: "!`" + "a" * n,
)

rows(
    "the arguments of a prompt template",
    lambda text: filled(Template("t", Path("t.md"), "project", body="$1 and $ARGUMENTS"), text),
    quotes="'\" \\",
    words="a b ",
    places="$1 $ARGUMENTS ",
)

HOOK = Hook(event="PreToolUse", command="x")
rows(
    "what a hook printed",
    lambda text: answer_of(HOOK, Ran(0, text)),
    braces="{",
    half=lambda n: '{"reason": "' + "a" * n,
    deep=lambda n: '{"a":' * (n // 5),
    words="a b\n",
)
rows(
    "a command and the condition of a hook",
    lambda text: command_fits("git push *", text),
    words="a b ",
    commands="a; b | c && ",
    assignments="A=1 ",
    wrappers="nohup nice ",
    substitutions="$(a) `b` ",
    quotes="'a' \"b $c\" ",
    redirections="a >b 2>&1 ",
    half='echo "',
)
rows("what a hook exported", exported, lines="export A=1\n", quotes="export A='", words="export A=1 B=2 ")


def themed(data: bytes) -> None:
    file = theme_file.ThemeFile(Path("/a.json"), msgspec.json.decode(data))
    theme, _ = theme_file.apply(file, "dark", "256")
    theme_file.faint_roles(theme)


rows(
    "a theme",
    themed,
    colours=lambda n: b'{"accent":"' + b"a" * n + b'"}',
    unknown_keys=lambda n: b"{" + b"".join(b'"accen%d":1,' % i for i in range(n // 12)) + b'"x":1}',
    unknown_syntax=lambda n: b'{"syntax":{' + b"".join(b'"keywor%d":1,' % i for i in range(n // 12)) + b'"x":1}}',
    long_keys=lambda n: b'{"' + b"accent" * (n // 6) + b'":1}',
    frames=lambda n: b'{"spinner_frames":[' + b'"a",' * (n // 4) + b'"a"]}',
    one_frame=lambda n: b'{"spinner_frames":["' + b"\\u0301" * (n // 6) + b'"]}',
    messages=lambda n: b'{"spinner_messages":[' + b'"a",' * (n // 4) + b'"a"]}',
    variables=lambda n: (
        b'{"accent":"$a0","vars":{' + b"".join(b'"a%d":"$a%d",' % (i, i + 1) for i in range(n // 16)) + b'"x":1}}'
    ),
    styles=lambda n: b'{"syntax":{"keyword":"' + b"bold " * (n // 5) + b'"}}',
    wrong_values=lambda n: b'{"accent":[' + b"1," * (n // 2) + b"1]}",
)

PATHS = ["a" * 200 + "/" + "a" * 200, "a/" * 200 + "b", "ab" * 200, "x"]
PATTERNS: dict[str, str | bytes | Callable[[int], Any]] = {
    "stars": "*",
    "stars_and_letters": lambda n: "*a" * (min(n, 990) // 2) + "b",
    "directories": lambda n: "**/" * (min(n, 990) // 3) + "b",
    "directories_and_letters": lambda n: "**/a/" * (min(n, 990) // 5) + "b",
    "questions": "?",
    "classes": lambda n: "[a-z]" * (min(n, 990) // 5),
    "open_classes": "[",
    "braces": "{a,b}",
    "open_braces": "{a,",
    "deep_braces": lambda n: "{" * (min(n, 990) // 2) + "}" * (min(n, 990) // 2),
    "empty_choices": lambda n: "{" + "," * min(n, 60) + "}" + "*a" * 100 + "b",
    "letters": "a",
    "backslashes": "\\",
}


def globbed(pattern: str) -> None:
    with suppress(re.error):
        compiled = re.compile(regex_of(pattern), re.DOTALL)
        for path in PATHS:
            compiled.fullmatch(path)


def ignored(text: str) -> None:
    rules = Rules("/p", text.split("\n"))
    for path in PATHS:
        rules.verdict(f"/p/{path}", False)


rows("a glob pattern", globbed, **PATTERNS)
rows(
    "an ignore file",
    ignored,
    **{name: text for name, text in PATTERNS.items()},
    lines="a\n",
    star_lines="*a*a*b\n",
    negations="!a\n",
    comments="#a\n",
    blanks="\n",
    classes_in_lines="[a-z]*\n",
)
rows(
    "a path that was typed",
    lambda given: [PathMatcher(given[0]).in_order(given[1]), PathMatcher(given[0]).loose_score(given[1])],
    letters=lambda n: ("a" * 50 + "b", "a" * n),
    slashes=lambda n: ("a/" * 25, "a/" * (n // 2)),
)
rows(
    "a filter of a list",
    lambda given: [Pattern(given[0]).rank(given[1], given[1]), Pattern(given[0]).places(given[1])],
    letters=lambda n: ("a" * 50 + "b", "a" * n),
    one_after_another=lambda n: ("ab" * 40 + "c", "ab" * (n // 2)),
    beginnings=lambda n: ("aab" * 20, "a " * (n // 2)),
    punctuation=lambda n: ("ab", "a" + "-" * n),
    backwards=lambda n: ("aaaab", "a" * n + "b"),
    digits=lambda n: ("1" * 40 + "2", "1-" * (n // 2)),
    words=lambda n: ("a b " * (n // 4), "a " * (n // 2)),
    a_long_word=lambda n: ("a" * n, "a" * n + "b"),
)

# --- what tools say

rows(
    "a diff",
    lambda text: (lines := diff.unified(text)) and diff.render(lines, built_in(), fresh().code, "python", WIDTH),
    lines=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n" + "+a\n" * (n // 3),
    hunks=lambda n: "--- a\n+++ b\n" + "@@ -1 +1 @@\n+a\n" * (n // 15),
    changed_words=lambda n: (
        "--- a\n+++ b\n@@ -1 +1 @@\n" + ("-" + "a b " * 50 + "\n+" + "b a " * 50 + "\n") * (n // 402)
    ),
    one_changed_line=lambda n: f"--- a\n+++ b\n@@ -1 +1 @@\n-{'a b ' * (n // 8)}\n+{'b a ' * (n // 8)}\n",
    half_hunks=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n" + "@@ -1" * (n // 5),
    digits=lambda n: "--- a\n+++ b\n@@ -" + "1" * n + " +1 @@\n a\n",
    tabs=lambda n: "--- a\n+++ b\n@@ -1 +1 @@\n+" + "\t" * n,
)


def changed(given: tuple[str, str]) -> None:
    old, new = given
    diff_of(old, [Span(0, len(old), 1, new)])


rows(
    "the difference of an edit",
    changed,
    equal_lines=lambda n: ("a\n" * (n // 4), "a\n" * (n // 4 + 1)),
    alternating_lines=lambda n: ("a\nb\n" * (n // 8), "b\na\n" * (n // 8)),
    every_other_line=lambda n: ("a\n" * (n // 4), "a\nb\n" * (n // 8)),
    other_lines=lambda n: ("a\n" * (n // 4), "b\n" * (n // 4)),
    turned_round=lambda n: tuple("\n".join(map(str, numbers)) for numbers in (range(n // 8), range(n // 8, 0, -1))),
)
rows(
    "many edits",
    lambda given: diff_of(*given),
    on_one_line=lambda n: ("a" * n, [Span(i, i + 1, i, "b") for i in range(0, n // 2, 8)]),
    on_many_lines=lambda n: ("a\n" * (n // 2), [Span(i, i + 1, i, "b") for i in range(0, n // 2, 8)]),
    far_apart=lambda n: ("a\n" * (n // 2), [Span(i, i + 1, i, "b") for i in range(0, n - 2, 64)]),
)
OUTPUT: dict[str, str | bytes | Callable[[int], Any]] = {
    **SOME,
    "numbered_lines": "  1\ta\n",
    "huge_numbers": lambda n: "9" * n + "\ta",
    "footers": lambda n: "a\n" + "... a]\n" * (n // 7),
    "exits": "[exit 0]\n",
    "columns": "a\t",
}
for reader, read in {
    "output of bash": lambda text: tool_bodies.bash_rows(text, "ls", built_in(), WIDTH),
    "live output": lambda text: tool_bodies.output_rows(text, built_in(), WIDTH),
    "what read gave": lambda text: tool_bodies.read_rows(text, {}, {}, "a.txt", fresh(), WIDTH),
    "code": lambda text: tool_bodies.code_rows(text, "a.py", 1, fresh(), WIDTH),
    "what edit changed": lambda text: tool_bodies.edit_diff_rows(text, {}, "a.py", fresh(), WIDTH),
}.items():
    rows(reader, read, **OUTPUT)


def captured(data: bytes) -> None:
    capture = OutputCapture()
    for at in range(0, len(data), 512):
        capture.feed(data[at : at + 512])
    if capture.spool is not None:
        capture.spool.close()  # without a name it leaves nothing behind
    capture.text()


rows(
    "a command's result",
    lambda text: read_bash(text, "ls"),
    lines=lambda n: "$ ls\n" + "a\n" * (n // 2) + "[exit 0]",
    notes=lambda n: "[timed out after 5s]\n" * (n // 21) + "[exit 0]  Took 1s",
    digits=lambda n: "[exit " + "1" * n + "]",
    paths=lambda n: "[exit 0] (full output: " + "(" * n + ")",
)
rows("captured output", captured, lines=b"a\n", one_line=b"a", bad_bytes=b"\xff", nul=b"\0")
for tool, name in (("bash", "command"), ("write", "content"), ("other", "a")):
    rows(
        f"a call of {tool} to decide on",
        lambda text, tool=tool, name=name: call_rows(tool, {"path": "a.py", name: text}, fresh(), WIDTH),
        **{key: CONTROLS[key] for key in ("letters", "words", "escapes", "combining_marks", "line_breaks", "tabs")},
        fields=lambda n: "a=b " * (n // 4),
    )
rows(
    "a dangerous command",
    lambda text: is_dangerous({"command": text}),
    **{
        name: lambda n, text=text: text * (min(n, 3_900) // len(text))
        for name, text in {
            "rm": "rm -a ",
            "rm_spaces": "rm    ",
            "git": "git push ",
            "curl": "curl ",
            "dd": "dd",
        }.items()
    },
)

# --- pictures


def jpeg(n: int) -> bytes:
    return b"\xff\xd8" + b"\xff\xe0\x00\x02" * (n // 4)


rows(
    "the size of a picture",
    dimensions,
    jpeg=jpeg,
    jpeg_without_lengths=lambda n: b"\xff\xd8" + b"\xff\xe0\x00\x00" * (n // 4),
    png=lambda n: b"\x89PNG\r\n\x1a\n" + b"a" * n,
    webp=lambda n: b"RIFFaaaaWEBPVP8X" + b"a" * n,
)

assert len({row.name for row in ROWS}) == len(ROWS)

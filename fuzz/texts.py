"""Readers and renderers of text: markdown, widths, what makes text safe or visible, keys, the boxes of tools."""

from __future__ import annotations

import random
import re

from fuzz.cases import cut
from fuzz.reader import holds, reader, text_of
from zot.features.export.html_page import rendered
from zot.features.export.redaction import Redaction
from zot.frontends.terminal.dialogs.call_details import call_rows
from zot.frontends.terminal.screen import tool_output
from zot.frontends.terminal.screen.tool_view import ToolView
from zot.system.visible_text import escape_invisible, escape_lines, has_invisible
from zot.tui import diff, markdown
from zot.tui.decision_text import decision_rows
from zot.tui.image import dimensions, picture
from zot.tui.keys import KeyDecoder
from zot.tui.markdown import MarkdownStream, Painter
from zot.tui.sanitize import Sanitizer, one_line, sanitize
from zot.tui.text_buffer import Position, TextBuffer, units_of
from zot.tui.text_layout import Scroll
from zot.tui.theme import built_in
from zot.tui.tool_call_rows import string_fields
from zot.tui.width import cells, clusters, pad, visible, wrap
from zot.tui.width import cut as cut_cells

_THEME = built_in()
_PAINTER = Painter.of(_THEME, links=True)
_ACTING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SGR = re.compile(r"\x1b\[[0-9;:]*m")


def _fit(rows: list[str], width: int) -> None:
    for row in rows:
        holds("\n" not in row, "a row is one line", row)
        holds(cells(row) <= width, f"wider than {width}", cells(row), row)


MARKDOWN = (
    "# Title\n\nA *paragraph* with **bold**, `code`, [a link](http://x.example/a_b) and ~~more~~.\n",
    "- one\n  - two\n    1. three\n- [x] done\n\n> quoted\n> > twice\n\n---\n",
    "```python\ndef f(x):\n    return x\n```\n\n~~~\nplain\n~~~\n",
    "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 漢字 | \\| |\n\nafter",
    "***both*** __x__ _y_ <http://a.example> http://b.example/c. \\*not\\* snake_case_word ``a`b``",
)


@reader(
    "markdown",
    MARKDOWN,
    "# ** * _ __ ` `` ``` ~~~ ~~ [ ]( ) | |- :-: > - 1. --- \n \n\n \\ <http:// http://a ! 漢 👨‍👩‍👧 \t",
)
def _markdown(data: bytes, rng: random.Random) -> None:
    text, width = sanitize(text_of(data)), rng.choice((1, 2, 7, 20, 80))
    rows = markdown.render(text, _PAINTER, width)
    _fit(rows, max(width, 2))
    stream, pieces = MarkdownStream(), cut(rng, text.encode())
    shown: list[str] = []
    for piece in pieces:
        stream.feed(piece.decode("utf-8", "ignore"))
        shown += stream.advance(_PAINTER, width)
        stream.live(_PAINTER, width)
    _fit(shown + stream.finish(_PAINTER, width), max(width, 2))


WIDTHS = (
    "plain words in a row",
    "漢字、かな。と『引用』",
    "👨‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 ❤️ e\u0301",
    "\x1b[1;31mred\x1b[0m \x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\ end",
    "a\u200db\u0600c\u1100\u1161",
)
WIDTH_WORDS = "a word 漢 。 」 👨 \u200d 👩 🏽 👍 🇩 🇪 ❤ \ufe0f \u0301 e \u1100 \u1161 \u0915\u094d \u094b \u0600 \x1b[1m \x1b[0m \x1b]8;;u\x1b\\ \x1b]8;;\x1b\\ \x1b7 \x1b8 \t ⟨ ⟩"


_TAGS = re.compile(r"<(/?)([a-z0-9]+)[^<>]*>")
_ALONE = frozenset({"br", "hr"})


@reader(
    "an HTML page",
    MARKDOWN,
    "# ** * _ ` ``` ~~ [a](javascript:x) [ ]( ) | |- > - 1. --- <b> </p> & \" ' \n \n\n \\ http://a 漢 \t",
)
def _html_page(data: bytes, rng: random.Random) -> None:
    """Every tag that opens is closed in order, and nothing of the text is one."""
    made, still_open = rendered(sanitize(text_of(data))), list[str]()
    for closes, tag in _TAGS.findall(made):
        if tag in _ALONE:
            continue
        if closes:
            holds(bool(still_open) and still_open[-1] == tag, "a tag closes the one that is open", tag, made)
            still_open.pop()
        else:
            still_open.append(tag)
    holds(not still_open, "every tag is closed", still_open, made)
    holds("<" not in _TAGS.sub("", made), "no other angle bracket", made)
    holds(
        not re.search(r'href="(?!https?://|mailto:)', made, re.IGNORECASE), "links go only where a browser may go", made
    )


SECRETS = (
    "sk-ant-api03-abcdefghijklmnopqrst and AKIAABCDEFGHIJKLMNOP\n",
    "password=hunter22 postgres://me:secret@db/x Bearer abcdefghijklmnop\n",
    "ann@example.com /home/me/work known-secret-of-mine\n",
)


@reader("a redacted text", SECRETS, "sk- eyJ . - _ @ : / :// = \" ' password token bearer -----BEGIN a 1 A \n")
def _redacted(data: bytes, rng: random.Random) -> None:
    redact = Redaction(["known-secret-of-mine"], [("/home/me", "~")])
    made = redact(text_of(data))
    holds("known-secret-of-mine" not in made, "a known secret is gone", made)


@reader("widths", WIDTHS, WIDTH_WORDS)
def _widths(data: bytes, rng: random.Random) -> None:
    text = text_of(data).replace("\n", " ").replace("\r", " ").replace("\x1b7", "")  # no drawings
    width = rng.choice((1, 2, 3, 7, 20, 80))
    plain = visible(text)
    while plain != visible(plain):  # what was between two halves of a style
        plain = visible(plain)
    holds(cells(plain) == sum(size for _, size in clusters(plain)), "the sum of its clusters", cells(plain))
    holds("".join(cluster for cluster, _ in clusters(plain)) == plain, "clusters hold it all")
    holds(cells(cut_cells(text, width)) <= width, f"cut wider than {width}", cut_cells(text, width))
    holds(cells(pad(text, width)) == width, f"not {width} wide", pad(text, width))
    _fit(wrap(text, width, rng.choice(("", "  "))), width)


@reader(
    "safe text",
    (*WIDTHS, "\x1b]0;title\x07text\x1b[2J\x9b31m\x90q\x9c\r\nx\x1b[8mhidden\x1b[0m"),
    WIDTH_WORDS + " \x1b[ \x1b] \x1bP \x9b \x9d \x07 \x9c 0;1 8 m J \\ \u202e \r \x00 \x1b",
)
def _safe(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    clean = sanitize(text)
    holds(not _ACTING.search(_SGR.sub("", clean).replace("\r\n", "")), "a control passed", clean)
    holds(sanitize(clean) == clean, "safe twice is not safe once", clean, sanitize(clean))
    holds(not re.search(r"[\x00-\x1f\x7f-\x9f]", one_line(text)), "one line", one_line(text))
    stream, at, out = Sanitizer(), 0, ""
    while at < len(text):
        step = rng.randrange(1, 9)
        out += stream.feed(text[at : at + step])
        at += step
    out += stream.close()
    holds(
        not _ACTING.search(_SGR.sub("", out).replace("\r\n", "").replace("\r", "")), "a control passed in pieces", out
    )


@reader(
    "text to decide on",
    (*WIDTHS, "echo harmless \x1b]0;$(touch X)\x07\n# x\trm  " + " " * 40),
    WIDTH_WORDS + " \n \x1b \x00 \u202e \u2066 \xa0 \u2800 \u3164",
)
def _decided(data: bytes, rng: random.Random) -> None:
    text, width = data.decode("utf-8", rng.choice(("replace", "surrogateescape"))), rng.choice((1, 2, 10, 80))
    line = escape_invisible(text)
    holds(line.isprintable(), "everything is printable", line)
    for piece in escape_lines(text):
        holds(piece.isprintable(), "every line is printable", piece)
    rows = decision_rows(text, "fg", _THEME, width)
    if width > 2:
        _fit(rows, width)
    has_invisible(text)
    tool = rng.choice(("bash", "write", "edit", "x"))
    edits = [{"oldText": text, "newText": text[::-1]}]
    call_rows(tool, {"command": text, "path": "a.py", "content": text, "edits": edits}, _PAINTER, 40)


KEYS = (
    b"abc\r\x1b[A\x1b[1;5C\x1bOP\x1b\x1b[200~pasted\x1b[201~",
    b"\x1b[27;5;99~\x1b[97;133u\x1b]11;rgb:0/0/0\x07\x1b[M !!\x1b[<0;1;1M",
    b"\xc3\xa9\xe6\xbc\xa2\xff\x9b1~",
)


@reader(
    "keys",
    KEYS,
    [
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1bO",
        b"A",
        b"u",
        b"~",
        b";",
        b"1",
        b"200~",
        b"\x1b[201~",
        b"\x07",
        b"\x1b\\",
        b"\x9b",
        b"\xc2\x9b",
        b"M",
        b"\x00",
        b"\x7f",
        b"99;5u",
        b"\xff",
    ],
)
def _keys(data: bytes, rng: random.Random) -> None:
    whole, pieces = KeyDecoder(), KeyDecoder()
    once = whole.feed(data) + whole.flush()
    parts = [key for piece in cut(rng, data) for key in pieces.feed(piece)] + pieces.flush()
    holds(once == parts, "cut differently, other keys", once, parts)
    for key in once:
        holds(not (key.printable and re.search(r"[\x00-\x1f\x7f-\x9f]", key.text)), "a control was typed", key)


@reader("the editor", (*WIDTHS, "two\nlines", "@src/a !@b"), WIDTH_WORDS + " \n @ !@ /")
def _editor(data: bytes, rng: random.Random) -> None:
    text = text_of(data).replace("\r", "")
    buffer = TextBuffer()
    buffer.insert(units_of(text))
    holds(buffer.text == text, "what went in comes out", buffer.text)
    line = rng.randrange(len(buffer.lines))
    buffer.move(Position(line, rng.randrange(len(buffer.lines[line]) + 1)))
    before = buffer.text
    buffer.insert(units_of(rng.choice(("x", "\u0301", "\n", "👩", "\u200d"))))
    Scroll().window(buffer, rng.choice((2, 10, 80)), 5)
    buffer.undo()
    holds(buffer.text == before, "undone is as before", buffer.text)


ARGUMENTS = (
    '{"path":"a.py","content":"line\\nline\\u00e9\\ud83d\\ude00"}',
    '{"path":"a","edits":[{"oldText":"a","newText":"b"}]}',
    '{"command":"ls -la | grep x"}',
)


@reader(
    "arguments",
    ARGUMENTS,
    '{ } [ ] , : " \\ \\n \\u00e9 \\ud83d \\ude00 "path": "content": "command": "edits": "oldText": 1 null',
)
def _arguments(data: bytes, rng: random.Random) -> None:
    text = text_of(data)
    for field in string_fields(text):
        holds(isinstance(field.value, str), "a value is text", field)
    view = ToolView("1", rng.choice(("write", "edit", "bash", "read", "x\x1b[2J")), text[: len(text) // 2])
    view.lines(_PAINTER, 40)
    view.more_arguments(text[len(text) // 2 :])
    _fit(view.lines(_PAINTER, 40), 40)
    view.called(text)
    view.progress(text)
    _fit(view.lines(_PAINTER, 40), 40)


OUTPUTS = (
    "$ ls\na\tb\n[exit 0]\n",
    "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def\n a\n-b\n+c\n\\ No newline\n",
    "     1\timport os\n     2\tx = 1\n... [truncated]\n",
    " context\n-old\n+new\n...\n context\n",
    "\x1b[31mred\x1b[0m\rover\x08\x1b[2K\n",
)


@reader("output of tools", OUTPUTS, "$ + - @@ -1 +1 ,2 @@ --- a/ +++ b/ ... \n \t \r \x1b[31m [exit 0] ]  1\t")
def _output(data: bytes, rng: random.Random) -> None:
    text, width = text_of(data), rng.choice((10, 40, 80))
    _fit(tool_output.bash_rows(text, "ls", _THEME, width), width)
    _fit(tool_output.output_rows(text, _THEME, width), width)
    tool_output.read_rows(text, {}, {}, rng.choice(("a.py", "")), _PAINTER, width)
    tool_output.edit_diff_rows(text, {}, "a.py", _PAINTER, width)
    clean = visible(sanitize(text))
    if (lines := diff.unified(clean)) is not None:
        diff.render(lines, _THEME, _PAINTER.code, "", width)


PICTURES = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x10\x00\x00\x00\x10\x08\x06\x00\x00\x00",
    b"GIF89a\x10\x00\x10\x00",
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x11\x08\x00\x10\x00\x10",
    b"RIFF\x00\x00\x00\x00WEBPVP8X\n\x00\x00\x00\x00\x00\x00\x00\x0f\x00\x00\x0f\x00\x00",
)


@reader(
    "pictures",
    PICTURES,
    [b"\xff\xd8", b"\xff\xc0", b"\x00\x00", b"\xff", b"IHDR", b"VP8L", b"VP8 ", b"GIF87a", b"RIFF", b"WEBP"],
)
def _picture(data: bytes, rng: random.Random) -> None:
    size = dimensions(data)
    holds(size is None or (0 < size[0] < 100_000 and 0 < size[1] < 100_000), "a size", size)
    made = picture(data, "image/png", rng.choice((1, 10, 80)), rng.choice(("", "iterm2")))
    holds(1 <= len(made.rows) <= 21, "rows", made.rows)

"""The HTML format: one file without scripts or requests. All content is untrusted and escaped."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape

from zot.features.export.document import Document, DocumentEntry, end_mark
from zot.tui import inline, markdown, table

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LABELS = {"prompt": "You", "answer": "Assistant", "command": "You ran", "summary": "Summary of earlier messages"}

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="zot">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<dl>{facts}</dl>
</header>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1f2328; --soft: #59636e; --line: #d1d9e0; --panel: #f6f8fa;
  --accent: #0969da; --bad: #b42318; --plus: #dafbe1; --minus: #ffebe9 }
@media (prefers-color-scheme: dark) {
  :root { --bg: #0d1117; --fg: #e6edf3; --soft: #9198a1; --line: #3d444d; --panel: #161b22;
    --accent: #58a6ff; --bad: #ff7b72; --plus: #12361f; --minus: #4a1d20 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1rem 6rem; max-width: 54rem; background: var(--bg); color: var(--fg);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem }
h1 { font-size: 1.4rem; margin: 0 0 .5rem }
main h1, main h2, main h3, main h4 { font-size: 1.05rem; margin: 1.2rem 0 .4rem }
dl { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0 0 1rem; font-size: .85rem; color: var(--soft) }
dl div { display: flex; gap: .35rem } dt::after { content: ":" } dd { margin: 0; color: var(--fg) }
section { margin: 1.1rem 0 }
.who { font-size: .8rem; color: var(--soft); margin-bottom: .2rem }
.prompt > .said { background: var(--panel); border-left: 3px solid var(--accent); padding: .5rem .9rem;
  border-radius: 0 6px 6px 0; white-space: pre-wrap }
.summary > .said { color: var(--soft); border-left: 3px solid var(--line); padding-left: .9rem }
p { margin: .5rem 0 } .end { color: var(--soft) } ul, ol { margin: .4rem 0; padding-left: 1.5rem }
code, pre { font: .86em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
:not(pre) > code { background: var(--panel); padding: .1em .3em; border-radius: 4px }
pre code { font-size: inherit }
pre { background: var(--panel); padding: .7rem .9rem; border-radius: 6px; overflow-x: auto; margin: .5rem 0 }
blockquote { margin: .5rem 0; padding-left: .9rem; border-left: 3px solid var(--line); color: var(--soft) }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid var(--line); padding: .25rem .6rem }
details { margin: .35rem 0 } summary { cursor: pointer; color: var(--soft) } summary code { background: none }
.failed > summary, .failed > summary code { color: var(--bad) }
.plus { background: var(--plus); display: block } .minus { background: var(--minus); display: block }
img { max-width: 100%; border-radius: 6px } a { color: var(--accent) }
hr { border: 0; border-top: 1px solid var(--line) }
@media print { details { display: block } body { max-width: none } }
"""


def html_page(document: Document) -> str:
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in document.facts)
    body = "\n".join(_body(document.entries))
    return _PAGE.format(title=escape(document.title), style=_STYLE, facts=facts, body=body)


def _body(entries: tuple[DocumentEntry, ...]) -> Iterator[str]:
    before = ""
    for entry in entries:
        if entry.kind == "call":
            mark, state = ("✖", ' class="failed"') if entry.failed else ("●", "")
            opened = " open" if entry.diff else ""
            body = "".join(_diff_rows(entry.text)) if entry.diff else escape(entry.text)
            summary = f"<summary>{mark} <code>{escape(entry.head)}</code></summary>"
            yield f"<details{state}{opened}>{summary}<pre>{body}</pre>{_images(entry)}</details>"
        elif entry.kind == "end":
            yield f'<p class="end">{end_mark(entry)} {escape(entry.text)}</p>'
        else:
            continues = entry.kind == "answer" and before in ("answer", "call")  # continuation of the same speaker
            time = f" · {entry.time}" if entry.time else ""
            who = "" if continues else f'<div class="who">{_LABELS[entry.kind]}{time}</div>'
            if entry.kind == "prompt":  # shown as typed
                content = escape(entry.text.strip("\n"))
            else:
                content = f"<pre>{escape(entry.text)}</pre>" if entry.kind == "command" else rendered(entry.text)
            yield f'<section class="{entry.kind}">{who}<div class="said">{content}{_images(entry)}</div></section>'
        before = entry.kind


def _diff_rows(text: str) -> Iterator[str]:
    for row in text.split("\n"):
        kind = {"+": "plus", "-": "minus"}.get(row[:1])
        yield f'<span class="{kind}">{escape(row)}</span>' if kind else f"{escape(row)}\n"


def _images(entry: DocumentEntry) -> str:
    shown = [image for image in entry.images if image.mime_type in _IMAGES]
    return "".join(
        f'<p><img alt="an image" src="data:{image.mime_type};base64,{b64encode(image.data).decode()}"></p>'
        for image in shown
    )


# Markdown as HTML, by the grammar the terminal uses.

_DEEPEST = 8  # styles inside styles, quotes inside quotes
_SAFE_LINK = re.compile(r"(?i)(?:https?://|mailto:)")
_STYLES = {"bold": "strong", "italic": "em", "strike": "s"}


def rendered(text: str, depth: int = _DEEPEST) -> str:
    found = markdown.blocks(text.split("\n"))
    pieces: list[str] = []
    while found:
        count = next((i for i, block in enumerate(found) if block.kind != "item"), len(found))
        pieces.append(_list(found[:count]) if count else _block(found[0], depth))
        del found[: count or 1]
    return "\n".join(pieces)


def _block(block: markdown.MarkdownBlock, depth: int) -> str:
    match block.kind:
        case "code":
            return f"<pre><code>{escape(markdown.code_of(block)[1])}</code></pre>"
        case "heading":
            level = len(block.lines[0].strip()) - len(block.lines[0].strip().lstrip("#"))
            return f"<h{level}>{spans(block.lines[0].strip().strip('#').strip())}</h{level}>"
        case "rule":
            return "<hr>"
        case "table":
            header = table.cells_of(block.lines[0])
            rows = [[*table.cells_of(line), *[""] * len(header)][: len(header)] for line in block.lines[2:]]
            head = "".join(f"<th>{spans(cell)}</th>" for cell in header)
            body = "".join(f"<tr>{''.join(f'<td>{spans(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        case "quote" if depth:
            return f"<blockquote>{rendered(markdown.unquoted(block), depth - 1)}</blockquote>"
        case _:
            return f"<p>{_lines(block.lines)}</p>"


def _lines(lines: Sequence[str]) -> str:
    """Line breaks are preserved."""
    return spans("\n".join(line.strip() for line in lines)).replace("\n", "<br>\n")


def _list(items: Sequence[markdown.MarkdownBlock]) -> str:
    """Further indented items belong to a list inside the previous item."""
    parts: list[str] = []
    open_at: list[tuple[int, str]] = []  # open lists: indentation and tag
    for block in items:
        indent, marker, lines = markdown.item_of(block)
        while len(open_at) > 1 and indent < open_at[-1][0]:
            parts.append(f"</li></{open_at.pop()[1]}>")
        if not open_at or (indent > open_at[-1][0] + 1 and len(open_at) < _DEEPEST):
            tag = "ul" if marker in "-*+" else "ol"
            start = f' start="{int(marker[:-1])}"' if tag == "ol" and marker[:-1] != "1" else ""
            open_at.append((indent, tag))
            parts.append(f"<{tag}{start}>")
        else:
            parts.append("</li>")
        parts.append(f"<li>{_lines(lines)}")
    parts += [f"</li></{tag}>" for _, tag in reversed(open_at)]
    return "".join(parts)


def spans(text: str, depth: int = _DEEPEST) -> str:
    return "".join(_span(span, depth) for span in inline.spans(text)) if depth else escape(text)


def _span(span: inline.InlineSpan, depth: int) -> str:
    if span.kind in _STYLES:
        tag = _STYLES[span.kind]
        return f"<{tag}>{spans(span.text, depth - 1)}</{tag}>"
    if span.kind == "code":
        return f"<code>{escape(span.text)}</code>"
    if span.kind == "link" and _SAFE_LINK.match(span.url):
        label = span.text or span.url
        inner = escape(label) if label == span.url else spans(label, depth - 1)
        return f'<a href="{escape(span.url)}" rel="noopener noreferrer">{inner}</a>'
    return escape(span.text if span.kind == "text" or not span.url else f"{span.text} ({span.url})")

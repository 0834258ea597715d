"""Exported pages contain every message in order, escaped; an HTML page loads and runs nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from zot.features.export.document import Document, document_of
from zot.features.export.export import fenced, markdown_page
from zot.features.export.html_page import html_page, rendered
from zot.provider.messages import (
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    user_message,
)

TIME = "2025-03-04T05:06:07.000Z"
MESSAGES = [
    Message("user", (TextBlock("fix <b>it</b> & more"), ImageBlock("image/png", b"\x89PNG")), TIME),
    Message(
        "assistant",
        (
            ReasoningBlock(summary="a secret thought"),
            TextBlock("I **look**."),
            ToolCallBlock("1", "bash").with_args({"command": "ls -l"}),
            ToolCallBlock("2", "edit").with_args({"path": "a.py"}),
            ToolCallBlock("3", "read").with_args({"path": "gone"}),
        ),
        TIME,
    ),
    Message(
        "tool",
        (
            ToolResultBlock("1", (TextBlock("\x1b[31mred\x1b[0m\x1b]0;t\x07 ```` ticks"),)),
            ToolResultBlock("2", (TextBlock("-old\n+new\n same"),), hunks=((1, 1),)),
            ToolResultBlock("3", (TextBlock("no such file"),), is_error=True),
        ),
        TIME,
    ),
    Message("assistant", (TextBlock("Done."),), TIME),
    Message("user", (TextBlock("The user ran a shell command:\n\n$ pwd"),), TIME, {"shell": "true"}),
    Message("user", (TextBlock("what was before"),), TIME, {"compaction": "true"}),
]


def document() -> Document:
    return document_of(MESSAGES, "the <title>", {"model": "p/m", "cost": ""})


def test_every_entry_is_there_in_order_and_thinking_is_not() -> None:
    found = document()
    assert [entry.kind for entry in found.entries] == [
        *("prompt", "answer", "call", "call", "call", "answer", "command", "summary")
    ]
    assert [entry.head for entry in found.entries if entry.kind == "call"] == ["bash ls -l", "edit a.py", "read gone"]
    assert [entry.failed for entry in found.entries if entry.kind == "call"] == [False, False, True]
    assert found.facts == (("model", "p/m"),)
    assert "secret thought" not in markdown_page(found) + html_page(found)


def test_markdown_names_speaker_and_folds_calls() -> None:
    page = markdown_page(document())
    assert page.startswith(
        "# the \\<title\\>\n\n- model: p/m\n\n## You · 2025-03-04 05:06 UTC\n\nfix <b>it</b> & more\n"
    )
    assert "<details><summary>● <code>bash ls -l</code></summary>\n\n`````\nred ```` ticks\n`````\n" in page
    assert "```diff\n-old\n+new\n same\n```" in page
    assert "<summary>✖ <code>read gone</code>" in page
    assert page.count("## Assistant") == 1  # it went on after its calls
    assert "an image: image/png, 4 bytes" in page
    assert "\x1b" not in page


def test_html_is_one_file_that_loads_and_runs_nothing() -> None:
    page = html_page(document())
    seen = _Seen()
    seen.feed(page)
    assert seen.loads == ["data:image/png;base64,iVBORw=="]
    assert not seen.tags & {"script", "link", "iframe", "object", "form", "base"}
    assert not any(name.startswith("on") for name in seen.attributes)
    assert "default-src 'none'" in page
    assert "fix &lt;b&gt;it&lt;/b&gt; &amp; more" in page
    assert "<title>the &lt;title&gt;</title>" in page
    assert '<span class="plus">+new</span>' in page
    assert '<details class="failed"><summary>✖ <code>read gone</code>' in page
    assert "<p>I <strong>look</strong>.</p>" in page


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A *b*", "<h1>A <em>b</em></h1>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("```py\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        ("`x<y` and ~~gone~~", "<p><code>x&lt;y</code> and <s>gone</s></p>"),
        ("> a\n> b", "<blockquote><p>a<br>\nb</p></blockquote>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("|a|b|\n|-|-|\n|1|2|", "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td>"),
        ("---", "<hr>"),
        ("[t](https://x.y/?a=1&b)", '<a href="https://x.y/?a=1&amp;b" rel="noopener noreferrer">t</a>'),
        ("[t](javascript:alert(1))", "<p>t (javascript:alert(1))</p>"),
        ('<img src=x onerror="a">', "<p>&lt;img src=x onerror=&quot;a&quot;&gt;</p>"),
    ],
)
def test_markdown_becomes_html(text: str, html: str) -> None:
    assert html in rendered(text)


def test_fence_is_longer_than_its_content() -> None:
    assert fenced("a") == "```\na\n```"
    assert fenced("`````") == "``````\n`````\n``````"


def test_an_empty_conversation_has_no_entries() -> None:
    assert document_of([user_message("")], "", {}).entries == ()

"""issue 32.1: HTML and PDF become text in a child process, which bombs cannot outlive."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from zot.agent.tools.workspace import Workspace
from zot.errors import ToolError
from zot.features.web import conversion
from zot.features.web.client import Fetched
from zot.features.web.conversion import Page, page_of
from zot.features.web.plain_html import plain_text

BASE = "https://e.org/a/b"


async def converted(data: bytes | str, kind: str = "text/html", *, is_cut: bool = False) -> Page:
    body = data.encode() if isinstance(data, str) else data
    return await page_of(Fetched((BASE,), 200, kind, body, is_cut), Workspace(Path.cwd()))


async def test_html_becomes_markdown() -> None:
    html = (
        "<title>A &amp; B</title><style>p{}</style><script>alert(1)</script><h1>Head</h1>"
        '<p>See <a href="../x?y=1">the <b>link</b></a> and <code>f()</code>.</p>'
        "<table><tr><th>a<th>b<tr><td>1<td>2</table><pre>x\n  y</pre><p hidden>secret</p>"
    )
    page = await converted(html)
    assert page.title == "A & B"
    assert "# Head" in page.text and "[the **link**](https://e.org/x?y=1)" in page.text
    assert "| 1 | 2 |" in page.text and "```\nx\n  y\n```" in page.text
    assert "alert" not in page.text and "secret" not in page.text and page.notes == ()


def test_plain_parser_keeps_structure() -> None:
    html = (
        "<title>T</title><h2>Head</h2><p>One <a href=x>link</a></p><ul><li>a<li>b</ul><script>no</script>"
        "<noscript>yes</noscript><pre>x\n  y</pre>"
    )
    assert plain_text(html, BASE) == "## Head\n\nOne link (https://e.org/a/x)\n\n- a\n- b\n\nyes\n\n```\nx\n  y\n```"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 200_000 + "end",
        "<b>" * 333_000 + "end",
        "<blockquote>" * 20_000 + "end",
        "<table><tr><td>" * 20_000 + "end",
        "<p>start</p>" + "<!--" * 250_000,
        "<p>start</p><a " + "x=1 " * 250_000,
        "<![CDATA[" * 100_000 + "]]>end",
        "&" * 1_000_000,
        "<ul><li>" * 20_000 + "end",
    ],
    ids=lambda html: html[:12],
)
async def test_html_bomb_ends_quickly(html: str) -> None:
    began = time.monotonic()
    page = await converted(html)
    assert time.monotonic() - began < 20
    assert any(word in page.text for word in ("end", "start", "&"))


async def test_text_and_json_stay_as_they_are() -> None:
    assert (await converted('{"a": [1, 2]}', "application/json")).text == '{"a": [1, 2]}'
    assert (await converted("<b>not html</b>", "text/plain")).text == "<b>not html</b>"


async def test_binary_is_an_error_without_its_content() -> None:
    with pytest.raises(ToolError, match=r"e\.org/a/b is binary \(4 bytes\), which has no text"):
        await converted(b"\0\1\2\3", "application/zip; name=ignore")


async def test_cut_page_says_so() -> None:
    assert (await converted("text", "text/plain", is_cut=True)).notes == (
        "Only the first 4 bytes were read; the rest was not downloaded.",
    )


def pdf(text: str) -> bytes:
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    return out + (
        b"xref\n0 5\n0000000000 65535 f \n"
        + table
        + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start
    )


async def test_pdf_becomes_text() -> None:
    assert (await converted(pdf("Hello PDF"), "application/pdf")).text == "[page 1]\nHello PDF"


async def test_broken_pdf_is_an_error() -> None:
    with pytest.raises(ToolError, match="the PDF cannot be read"):
        await converted(b"%PDF-1.4\nnothing", "application/pdf")


async def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The child finds modules that cannot be imported, as without the extra."""
    for name in ("html_to_markdown", "pypdf"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    page = await converted("<h1>Head</h1>")
    assert page.text == "# Head" and "zot-agent[web]" in page.notes[0]
    with pytest.raises(ToolError, match=r"needs pypdf: install zot-agent\[web\]"):
        await converted(pdf("x"), "application/pdf")


async def test_stalled_converter_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "html_to_markdown.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(conversion, "_WORKER_S", 0.5)
    with pytest.raises(ToolError, match=r"took longer than 0\.5 s"):
        await converted("<p>x")


async def test_crashed_converter_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "html_to_markdown.py").write_text("import os; os.abort()")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ToolError, match="its converter failed on it"):
        await converted("<p>x")

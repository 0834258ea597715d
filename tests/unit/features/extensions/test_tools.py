"""Tool results of extensions: limits, and conversion of the child's answer."""

from __future__ import annotations

from zot.features.extensions.tools import converted, failed, wire_blocks
from zot.provider.messages import ImageBlock, TextBlock
from zot.wire.extension_frames import Content, ToolResult


def test_result_within_limit_is_unchanged() -> None:
    content, cut = wire_blocks((TextBlock("a"), ImageBlock("image/png", b"123")), 100)
    assert content == (Content(type="text", text="a"), Content(type="image", mime_type="image/png", data="MTIz"))
    assert not cut


def test_text_is_cut_between_characters_and_images_are_dropped() -> None:
    """§22.5: text is cut between characters, and an image that does not fit is left out whole."""
    content, cut = wire_blocks((TextBlock("ääää"), ImageBlock("image/png", b"x" * 50), TextBlock("z")), 5)
    assert [block.text for block in content] == ["ää", "z"] and cut


def test_result_has_at_most_128_blocks() -> None:
    content, cut = wire_blocks([TextBlock(str(i)) for i in range(200)])
    assert len(content) == 128 and cut


def test_failed_result_names_extension_and_tool() -> None:
    """ext-144: a failed result names the extension and its tool, in the text and in the details."""
    result = failed("e", "t", "gone", timed_out=True)
    assert result.is_error and result.content == (TextBlock("extension e/t failed: gone"),)
    assert result.details == {"extension": "e", "tool": "t", "timed_out": True}


def test_good_blocks_stay_beside_a_broken_image() -> None:
    """ext-061: a broken image becomes an error text, and the blocks beside it stay."""
    answer = ToolResult(id="1", content=(Content(type="image", data="?"), Content(type="text", text="kept")))
    result = converted("e", "t", answer)
    assert result.is_error and result.content[1] == TextBlock("kept")

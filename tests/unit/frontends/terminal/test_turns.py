"""Prompts typed before the agent starts are buffered, shown and sent."""

from __future__ import annotations

from zot.frontends.terminal.turns import PendingTurns
from zot.provider.messages import ImageBlock
from zot.tui.theme import built_in
from zot.tui.width import visible

THEME = built_in()


def test_early_prompts_are_queued_in_order_and_shown() -> None:
    redraws: list[None] = []
    early = PendingTurns(lambda: redraws.append(None))
    image = ImageBlock("image/png", b"x")
    early.submit("first\nrow", [image])
    early.steer("second")
    assert list(early.submitted_prompts) == [("first\nrow", (image,)), ("second", ())]
    assert len(redraws) == 2
    rows = [visible(row).strip() for row in early.queue_lines(THEME, 60)]
    assert rows == ["sliding in: first↩row", "sliding in: second"]


async def test_stop_before_start_runs_and_loses_nothing() -> None:
    early = PendingTurns(lambda: None)
    early.submit("kept")
    early.cancel()
    early.return_to_editor()
    early.edit_last_queued()
    assert await early.stop()
    assert not early.busy and not early.ready
    assert [text for text, _ in early.submitted_prompts] == ["kept"]

"""Notes and panels at the seam to the screen (extension-protocol.md §12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.extension_host import Kit, hosting, until
from tests.fakes.extensions import seen, seen_of
from zot.agent.slash_commands import PanelAnswer, PanelRefused
from zot.wire.extension_frames import PANEL_KEYS, Panel

PANEL = """
hello(); send(type="register_command", name=NAME + "-open"); ready()
def opened(f):
    send(type="command_response", id=f["id"], action="open_panel",
         open_panel={"id": "p", "title": "T", "lines": ["a", "b"], "footer": "f"})
def key(f):
    if f["key"] == "enter": send(type="panel_render", panel_id="p", lines=["c"])
    if f["key"] == "tab": send(type="panel_close", panel_id="p")
    if f["key"] == "up": send(type="panel_render", panel_id="other", lines=["no"])
    if f["key"] == "end": os._exit(1)
serve(command_invoked=opened, panel_key=key)
"""
DRAWN = Panel(id="p", title="T", lines=("a", "b"), footer="f")


async def opened(kit: Kit) -> Path:
    directory = kit.add("todo", PANEL)
    await kit.start()
    assert await kit.host.run_command("todo-open", "") == PanelAnswer("todo", DRAWN)
    return directory


async def test_notes_reach_the_ui_with_owner_and_empty_ones_do_not(kit: Kit) -> None:
    """ext-086, ext-088: notes reach the surface with their owner, and only their owner clears them; empty ones are
    dropped.
    """
    notes = 'for m in ("", "hi"): send(type="notify", level="loud", message=m)'
    kit.add("n", f'hello(); ready()\n{notes}\nsend(type="clear_notes"); serve()')
    await kit.start()
    await until(lambda: kit.surface.of("clear_notes"))
    assert kit.surface.calls == [("notify", "n", "loud", "hi"), ("clear_notes", "n")]


async def test_note_flood_is_limited_and_reported(kit: Kit) -> None:
    """More notes than a user can read are dropped."""
    kit.add("n", 'hello(); ready()\nfor i in range(20000): send(type="notify", message=str(i))\nserve()')
    await kit.start()
    await until(lambda: "notes in a second" in "".join(kit.surface.faults))
    assert len(kit.surface.of("notify")) < 20000


async def test_a_panel_opens_and_keys_go_to_its_child(kit: Kit) -> None:
    """ext-089, ext-090: a panel opens with its title, lines and footer, and every key reaches its child by name."""
    directory = await opened(kit)
    keys = [key for key in PANEL_KEYS if key not in ("enter", "tab", "up", "end", "esc")]
    for key in keys:
        kit.host.panel_key("todo", "p", key, "x")
    await until(lambda: len(seen_of(directory, "panel_key")) == len(keys))
    for frame in seen_of(directory, "panel_key"):
        text = {"text": "x"} if frame["key"] == "rune" else {}
        assert frame == {"type": "panel_key", "panel_id": "p", "key": frame["key"], **text}


async def test_panel_closed_by_user_notifies_the_child(kit: Kit) -> None:
    """ext-091: closing by the user sends `panel_close` once, and no further keys."""
    directory = await opened(kit)
    kit.host.panel_closed("todo", "p")
    kit.host.panel_closed("todo", "p")
    kit.host.panel_key("todo", "p", "down")
    await until(lambda: seen_of(directory, "panel_close"))
    await kit.host.stop()
    assert [frame["type"] for frame in seen(directory)][-2:] == ["panel_close", "shutdown"]


async def test_redraw_replaces_lines_only_in_owners_open_panel(kit: Kit) -> None:
    """ext-092, ext-093: a redraw replaces the lines, and only in the open panel of the same extension."""
    await opened(kit)
    kit.host.panel_key("todo", "p", "up")
    kit.host.panel_key("todo", "p", "enter")
    await until(lambda: kit.surface.of("render_panel"))
    assert kit.surface.of("render_panel") == [("todo", Panel(id="p", lines=("c",)))]


async def test_closing_by_the_child_is_not_echoed(kit: Kit) -> None:
    """ext-094: a panel closed by its child is not reported back to it."""
    directory = await opened(kit)
    kit.host.panel_key("todo", "p", "tab")
    await until(lambda: kit.surface.of("close_panel") == [("todo", "p")])
    await kit.host.stop()
    assert seen_of(directory, "panel_close") == []


async def test_panel_replaced_by_another_extension_notifies_owner(kit: Kit) -> None:
    """OP-16: a panel of another extension replaces the open one, and its owner receives an event."""
    kit.add("other", PANEL)
    directory = await opened(kit)
    assert await kit.host.run_command("other-open", "") == PanelAnswer("other", DRAWN)
    await until(lambda: seen_of(directory, "panel_close") == [{"type": "panel_close", "panel_id": "p"}])
    assert kit.surface.of("close_panel") == [("todo", "p")]


async def test_the_panel_of_a_crashed_child_closes(kit: Kit) -> None:
    """OP-16: the panel of a child that crashed is closed."""
    await opened(kit)
    kit.host.panel_key("todo", "p", "end")
    await until(lambda: kit.surface.of("close_panel") == [("todo", "p")])


FREE = """
hello(); ready()
send(type="open_panel", panel={"id": "q", "lines": ["▸ yes"]}); send(type="notify", message="."); serve()
"""


async def test_a_panel_may_open_without_a_command_and_gets_keys(kit: Kit) -> None:
    """ext-121: a panel may open without a command, and its keys reach the child."""
    directory = kit.add("ask", FREE)
    await kit.start()
    await until(lambda: kit.surface.of("open_panel") == [("ask", Panel(id="q", lines=("▸ yes",)))])
    kit.host.panel_key("ask", "q", "enter")
    await until(lambda: seen_of(directory, "panel_key"))


async def test_panel_does_not_open_without_a_user(tmp_path: Path) -> None:
    """§16: where no user is present no panel opens."""
    async with hosting(tmp_path, interactive=False) as kit:
        kit.add("ask", FREE)
        kit.add("todo", PANEL)
        await kit.start()
        await until(lambda: kit.surface.of("notify"))
        assert await kit.host.run_command("todo-open", "") == PanelRefused("todo")
        assert kit.surface.of("open_panel") == []


@pytest.mark.parametrize("frame", [{"type": "open_panel"}, {"type": "panel_close", "panel_id": "zz"}])
async def test_frame_of_unknown_panel_is_ignored(kit: Kit, frame: dict[str, Any]) -> None:
    kit.add("x", f'hello(); ready(); send(**{frame!r}); send(type="notify", message="."); serve()')
    await kit.start()
    await until(lambda: kit.surface.of("notify"))
    assert len(kit.surface.calls) == 1 and os.path.exists(kit.home)

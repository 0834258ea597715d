"""Permission mode and jail belong to the session and come back with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import CallTools, Say

OUTSIDE = "/var/tmp/zot-session-limits"


def session_file(zot: Zot) -> Path:
    (path,) = (zot.home / "zot" / "sessions").rglob("*.jsonl")
    return path


def limits(zot: Zot) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in session_file(zot).read_text().splitlines()]
    return [row["limits"] for row in rows if row["type"] == "limits"]


def touch(path: str) -> CallTools:
    return CallTools([("bash", {"command": f"touch {path}"})])


def was_denied(done: Ran) -> bool:
    (result,) = [event for event in done.events if event["type"] == "tool_result"]
    return bool(result.get("is_error"))


def test_a_resumed_session_keeps_mode_and_jail(zot: Zot, serve: Any, tmp_path: Path) -> None:
    """issue 29.1: `zot -c` without flags does not run what the session did not allow."""
    serve([Say("hello"), touch("made.txt"), Say("done")])
    assert zot("-p", "--jail", "--permission-mode", "ask", "hi").code == 0
    assert limits(zot) == [{"permission_mode": "ask", "jail": "on", "mode_chosen": True}]
    done = zot("--json", "-c", "go on")
    assert was_denied(done)
    assert not (zot.project / "made.txt").exists()
    assert "resumed with permission mode ask, jailed" in done.out


def test_the_jail_confines_the_resumed_session(zot: Zot, serve: Any) -> None:
    """issue 29.1."""
    serve([Say("hello"), touch(OUTSIDE), Say("done")])
    assert zot("-p", "--jail", "hi").code == 0
    assert "jailed" in zot("--json", "-c", "go on").err
    assert not Path(OUTSIDE).exists()


def test_flags_change_the_limits_with_a_line(zot: Zot, serve: Any) -> None:
    """issue 29.1: the change is recorded as well."""
    serve([Say("hello"), touch("made.txt"), Say("done"), Say("bye")])
    assert zot("-p", "--jail", "--permission-mode", "ask", "hi").code == 0
    done = zot("--json", "-c", "--no-jail", "--permission-mode", "everything", "go on")
    assert not was_denied(done)
    assert "permission mode everything; this session had ask" in done.out
    assert "not jailed (--no-jail); this session was jailed" in done.out
    assert limits(zot)[-1] == {}
    assert "resumed with" not in zot("--json", "-c", "again").out


def test_a_session_file_cannot_widen_the_settings(zot: Zot, serve: Any) -> None:
    """issue 29.1: an imported session allows no more than the user's default."""
    serve([Say("hello"), touch("made.txt"), Say("done")])
    assert zot("-p", "hi").code == 0
    with session_file(zot).open("a") as file:
        file.write('{"type": "limits", "limits": {"permission_mode": "everything"}}\n')
    (zot.home / "zot" / "config.json").write_text('{"permission_mode": "ask"}')
    assert was_denied(zot("--json", "-c", "go on"))


def test_an_unlimited_session_has_no_row(zot: Zot, serve: Any) -> None:
    """issue 29.1: session files of the default mode stay as they were."""
    serve([Say("hello"), Say("again")])
    assert zot("-p", "hi").code == 0
    assert zot("-p", "-c", "hi").code == 0
    assert limits(zot) == []


def test_contradicting_jail_flags_are_an_error(zot: Zot) -> None:
    done = zot("-p", "--jail", "--no-jail", "hi")
    assert done.code == 1
    assert "--no-jail contradicts" in done.err

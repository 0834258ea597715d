"""The data of the second edition's events, as zot sends it in a prompt with one tool call."""

from __future__ import annotations

from typing import Any

_ABOUT = {"prompt_id": "p1"}
_TOOL = {"tool_id": "toolu_1", "tool_name": "bash"}
_MODEL = {"provider": "anthropic", "model": "claude-sonnet-5-5", "reasoning": "off"}
_TOKENS = {"input_tokens": 1200, "output_tokens": 80, "cache_read_tokens": 900, "cost_usd": 0.0042}

DATA: dict[str, dict[str, Any]] = {
    "prompt_start": {**_ABOUT, "text": "a prompt", "image_count": 0, "source": "person"},
    "prompt_end": {**_ABOUT, "status": "completed", "steps": 2, "usage": _TOKENS},
    "idle": {},
    "message_end": {"entry_id": "s1:2", "role": "assistant", "chars": 12},
    "message_delta": {**_ABOUT, "step": 1, "text": "a piece"},
    "tool_start": {**_TOOL, "args": {"command": "true"}},
    "tool_update": {**_TOOL, "text": "half", "fraction": 0.5},
    "model_changed": {**_MODEL, "previous": "claude-opus-5", "source": "person"},
    "tools_changed": {"active": ["read", "bash"]},
    "mode_changed": {"permission_mode": "ask", "jail": False},
    "usage": {"step": 1, **_TOKENS, "context_tokens": 1280, "context_window": 200_000},
    "session_info": {"session_id": "s1", "name": "a name"},
    "files_changed": {"paths": ["a.txt"], "tool_id": "toolu_1"},
    "queue_changed": {"steering": 0, "queued": 1},
    "dialog": {"state": "open", "owner": "zot", "kind": "approval"},
    "resize": {"width": 100, "height": 40},
    "theme_changed": {"name": "dark", "base": "dark"},
    "settings_changed": {"values": {}},
    "bus": {"topic": "t", "from": "other", "payload": {"n": 1}},
    "ui_changed": {"dialogs": True, "surfaces": True, "panels": True, "editor": True, "width": 100, "height": 40},
}

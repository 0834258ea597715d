"""Plays zot against this extension, through the same pipe. Run: python3 test_main.py"""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MANIFEST = json.loads((HERE / "extension.json").read_text(encoding="utf-8"))


def play(*frames: dict[str, Any]) -> list[dict[str, Any]]:
    """The extension's answers to these frames and a shutdown."""
    lines = [{"type": "hello_ack", "protocol_version": 1}, *frames, {"type": "shutdown"}]
    done = subprocess.run(
        [MANIFEST["exec"], *MANIFEST["args"]],
        input="".join(json.dumps(line) + "\n" for line in lines),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


class Conversation(unittest.TestCase):
    def test_it_registers_a_command_and_a_tool(self) -> None:
        types = [frame["type"] for frame in play()]
        self.assertEqual(types[0], "hello")
        self.assertIn("register_command", types)
        self.assertIn("register_tool", types)
        self.assertEqual(types[-1], "shutdown_ack")

    def test_the_tool_counts(self) -> None:
        call = {"type": "tool_call", "id": "1", "name": "__TOOL__", "args": {"text": "one two three"}}
        result = next(frame for frame in play(call) if frame["type"] == "tool_result")
        self.assertEqual(result["content"], [{"type": "text", "text": "3 words, 13 characters"}])


if __name__ == "__main__":
    unittest.main()

"""Plays zot against this extension, through the same pipe: `frames.json` has the frames and what must come back.
Run: python3 test_main.py"""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = json.loads((HERE / "extension.json").read_text(encoding="utf-8"))
PLAY = json.loads((HERE / "frames.json").read_text(encoding="utf-8"))
FEATURES = ["request", "contribute", "progress", "intercept2", "dialogs", "surfaces", "providers", "state"]
ACK = {"type": "hello_ack", "protocol_version": 1, "edition": 2, "features": FEATURES, "granted": MANIFEST["uses"]}


def play() -> str:
    lines = [ACK, *PLAY["frames"], {"type": "shutdown"}]
    done = subprocess.run(
        [MANIFEST["exec"], *MANIFEST["args"]],
        input="".join(json.dumps(line) + "\n" for line in lines),
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


class Conversation(unittest.TestCase):
    def test_it_answers_as_frames_json_says(self) -> None:
        answers = play()
        for expected in PLAY["expected"]:
            self.assertIn(expected, answers)


if __name__ == "__main__":
    unittest.main()

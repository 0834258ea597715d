"""``docs/pictures/page*.png``: the page of ``zot serve`` as a real browser shows it, with a scripted model.

``python -m docs.make_page_pictures``; it needs Chromium and Pillow, and no network.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.user import User
from tests.fakes import chromium
from tests.fakes.served import Served
from tests.fakes.zot_process import Zot

TARGET = Path(__file__).parent / "pictures"
CODE = "def total(prices, discount=0.0):\n    return sum(prices)\n"
TEST = (
    "import unittest\nfrom shop import total\n\nclass Test(unittest.TestCase):\n"
    "    def test_discount(self):\n        self.assertEqual(total([10], 0.5), 5)\n"
)
EDIT = {"oldText": "    return sum(prices)", "newText": "    return sum(prices) * (1 - discount)"}
ANSWER = (
    "`total` ignored its `discount`. Now it takes the share off:\n\n```python\ndef total(prices, discount=0.0):\n"
    "    return sum(prices) * (1 - discount)\n```\n\nThe test passes with both a discount and none."
)
STEPS = [
    {"text": "read shop.py", "status": "done"},
    {"text": "apply the discount", "status": "in_progress"},
    {"text": "run the tests", "status": "pending"},
]
TURNS = [
    {
        "thinking": "The discount is a parameter that nothing uses.",
        "text": "I look at the function first.",
        "tool_calls": [
            {"name": "read", "args": {"path": "shop.py"}},
            {"name": "todo", "args": {"items": STEPS}},
        ],
    },
    {
        "text": "The discount is never used.",
        "tool_calls": [{"name": "edit", "args": {"path": "shop.py", "edits": [EDIT]}}],
    },
    {
        "text": "Now the tests.",
        "tool_calls": [{"name": "bash", "args": {"command": "python3 -m unittest -q test_shop.py"}}],
    },
    {"text": ANSWER},
]


def main() -> None:
    program = chromium.find()
    assert program is not None, "there is no Chromium"
    with tempfile.TemporaryDirectory() as scratch, chromium.browse(program, Path(scratch) / "browser") as page:
        place = Path(scratch)
        (home := place / "home").mkdir()
        (project := place / "shop").mkdir()
        (project / "shop.py").write_text(CODE)
        (project / "test_shop.py").write_text(TEST)
        (script := place / "script.json").write_text(json.dumps({"turns": TURNS}))
        flags = ("--permission-mode", "accept-edits", "--tools", "read,edit,bash,todo")
        with Served(Zot(home, project), "--provider", "script", "--script", str(script), *flags) as server:
            user = User(page)
            _to_approval(user, server)
            user.size(1120, 760)
            _save(user, "page.png", "light")
            user.size(360, 720, is_phone=True)
            _save(user, "page-phone.png", "dark")
            user.size(1120, 760)
            user.click(".request button", "Allow once")
            user.is_done()
            user.click(".to-end") if user.count(".to-end") else None
            _save(user, "page-dark.png", "dark")


def _to_approval(user: User, server: Served) -> None:
    user.start(server)
    user.prompt("The discount has no effect. Please fix it.")
    user.sees(".request .exact", "unittest")


def _save(user: User, name: str, scheme: str) -> None:
    user.prefers(scheme)
    user.evaluate("document.querySelectorAll('.cwd, .row-detail').forEach(e => e.textContent = '~/shop')")
    user.evaluate("new Promise(done => setTimeout(done, 400))")
    user.picture(shot := Path(tempfile.mkdtemp()) / name)
    Image.open(io.BytesIO(shot.read_bytes())).convert("RGB").quantize(96).save(TARGET / name, optimize=True)


if __name__ == "__main__":
    main()

"""The pictures of the documentation, made by the program itself: zot in a pty, a scripted model, the screen as SVG.

``python docs/make_pictures.py [NAME…]`` writes ``docs/pictures/*.svg``; without names, all of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.fakes.model_server import CallTools, FakeModelServer, Say  # noqa: E402
from tests.fakes.terminal import FakeTerminal  # noqa: E402

CELL_W, CELL_H, PAD = 8.4, 18, 12
GROUNDS = {"dark": ("#1e1e1e", "#d4d4d4"), "light": ("#fafafa", "#2e3440")}
NAMED = {
    **{"black": "#000000", "red": "#cd3131", "green": "#0dbc79", "brown": "#e5e510", "blue": "#2472c8"},
    **{"magenta": "#bc3fbc", "cyan": "#11a8cd", "white": "#e5e5e5"},
}

ACPX = ROOT / ".cache" / "acp" / "node_modules" / ".bin" / "acpx"
PROMPT = "total() ignores how many of each item there are. Fix it."
CODE = '''def total(items):
    """The price of a basket."""
    result = 0
    for item in items:
        result += item.price
    return result
'''

TURNS = [
    CallTools([("read", {"path": "shop.py"})], text="I will look at the function first."),
    CallTools(
        [
            (
                "edit",
                {
                    "path": "shop.py",
                    "edits": [{"oldText": "item.price\n", "newText": "item.price * item.count\n"}],
                },
            ),
            ("bash", {"command": "python -c 'import shop; print(\"imports fine\")'"}),
        ]
    ),
    Say(
        "`total` now **multiplies by the count**.\n\n- it read only `price`\n- the loop is unchanged otherwise\n\n"
        "| basket | before | after |\n|---|--:|--:|\n| 3 apples | 2 | 6 |\n| empty | 0 | 0 |"
    ),
]


def svg(terminal: FakeTerminal, ground: str) -> str:
    back, front = GROUNDS[ground]
    screen = terminal._emulated
    width, height = screen.columns * CELL_W + 2 * PAD, screen.lines * CELL_H + 2 * PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="100%" height="100%" rx="8" fill="{back}"/>',
    ]
    for y in range(screen.lines):
        parts += row_parts([screen.buffer[y][x] for x in range(screen.columns)], y, back, front)
    if not screen.cursor.hidden:
        x, y = PAD + screen.cursor.x * CELL_W, PAD + screen.cursor.y * CELL_H
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{CELL_W}" height="{CELL_H}" fill="{front}" opacity="0.5"/>')
    return "\n".join([*parts, "</svg>\n"])


def row_parts(cells: list[Any], y: int, back: str, front: str) -> list[str]:
    parts: list[str] = []
    x = 0
    for look, run in groupby(cells, key=lambda cell: (cell.fg, cell.bg, cell.bold, cell.italics, cell.reverse)):
        text = "".join(cell.data for cell in run)
        size = len(text) if all(ord(c) < 0x1100 for c in text) else sum(max(len(c), 1) for c in text)
        fg, bg, bold, italic, reverse = look
        ink, paper = _colour(fg, front), _colour(bg, "")
        if reverse:
            ink, paper = paper or back, ink
        left, top = PAD + x * CELL_W, PAD + y * CELL_H
        if paper:
            parts.append(
                f'<rect x="{left:.1f}" y="{top}" width="{size * CELL_W:.1f}" height="{CELL_H}" fill="{paper}"/>'
            )
        if text.strip():
            style = (' font-weight="bold"' if bold else "") + (' font-style="italic"' if italic else "")
            parts.append(
                f'<text x="{left:.1f}" y="{top + 14}" fill="{ink}" xml:space="preserve" '
                f'textLength="{size * CELL_W:.1f}"{style}>{escape(text)}</text>'
            )
        x += size
    return parts


def _colour(value: str, default: str) -> str:
    if value == "default":
        return default
    return NAMED.get(value, f"#{value}" if len(value) == 6 else default)


def conversation(terminal: FakeTerminal) -> None:
    terminal.submit("total() ignores how many of each item there are. Fix it.")
    terminal.wait_for("empty")
    terminal.wait_idle()


def welcome(terminal: FakeTerminal) -> None:
    terminal.wait_gone("zot (")
    terminal.type("explain this project in three sentences")
    terminal.wait_for("three sentences")


def commands(terminal: FakeTerminal) -> None:
    terminal.wait_gone("zot (")
    terminal.type("/s")
    terminal.wait_for("/settings")
    terminal.wait_idle()


def confirm(terminal: FakeTerminal) -> None:
    terminal.submit("total() ignores how many of each item there are. Fix it.")
    terminal.wait_for("shop.py")
    terminal.wait_idle(1.0)


def editor(terminal: FakeTerminal) -> None:
    """zot in another program: acpx, a client of the Agent Client Protocol (``bash tests/setup/acp.sh``)."""
    terminal.wait_for("empty", timeout=30)
    terminal.wait_idle(1.0)


# name: (what happens, ground, columns, rows, arguments)
PICTURES: dict[str, tuple[Callable[[FakeTerminal], None], str, int, int, tuple[str, ...]]] = {
    "welcome": (welcome, "dark", 80, 12, ()),
    "conversation": (conversation, "dark", 90, 34, ()),
    "conversation-light": (conversation, "light", 90, 34, ()),
    "commands": (commands, "dark", 80, 24, ()),
    "confirm": (confirm, "dark", 80, 24, ("--no-yolo",)),
    "editor": (editor, "dark", 90, 34, ()),
    "theme": (conversation, "dark", 90, 34, ("--theme", "harbour")),
    "narrow": (conversation, "dark", 40, 30, ()),
}


def make(name: str) -> None:
    act, ground, columns, rows, args = PICTURES[name]
    with tempfile.TemporaryDirectory() as home, FakeModelServer(list(TURNS)) as server:
        project = Path(home) / "shop"
        (project / ".git").mkdir(parents=True)
        (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (project / "shop.py").write_text(CODE)
        _theme(Path(home) / "zot" / "themes")
        env = {"HOME": home, "ZOT_HOME": f"{home}/zot", "PATH": os.environ["PATH"], "COLORTERM": "truecolor"}
        reply = "ffff/ffff/ffff" if ground == "light" else "1e1e/1e1e/1e1e"
        run = ["--base-url", server.url, "--api-key", "none"]
        argv = [f"{sys.prefix}/bin/zot", *run, *args]
        if act is editor:
            agent = f"{sys.prefix}/bin/zot acp {' '.join(run)} --permission-mode ask"
            argv = [str(ACPX), "--agent", agent, "--cwd", str(project), "--approve-all", "exec", PROMPT]
        with FakeTerminal(argv, cwd=project, env=env, columns=columns, rows=rows, background=reply) as terminal:
            if act is not editor:
                terminal.wait_for("(anthropic)")
            act(terminal)
            path = ROOT / "docs" / "pictures" / f"{name}.svg"
            path.write_text(svg(terminal, ground), encoding="utf-8")
            print(path.relative_to(ROOT))


def _theme(directory: Path) -> None:
    """The example of the themes skill."""
    import re

    skill = ROOT / "src/zot/features/skills/builtin/write-zot-themes/SKILL.md"
    body = re.search(r"<!-- file: themes/harbour.json -->\n```json\n(.*?)```", skill.read_text(), re.DOTALL)
    directory.mkdir(parents=True)
    if body:
        (directory / "harbour.json").write_text(body[1])


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        make(wanted)

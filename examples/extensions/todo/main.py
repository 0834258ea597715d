"""A list of things to do in a panel: ``/todo`` opens it, ``/todo TEXT`` adds one. It is kept in the data directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any

from zot.ext import Extension, Response

PANEL = "todo-list"
FOOTER = "↑/↓ choose · space done · d delete · esc close"
ext = Extension("todo", "1.0.0")


class Todos:
    """The list, the chosen row, and the file they are kept in. Commands run side by side, so changes take turns."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.chosen = 0
        self.changing = Lock()

    @property
    def file(self) -> Path:
        return Path(ext.host.data_dir or ".") / "todos.json"

    def load(self) -> None:
        if self.file.exists():
            self.items = json.loads(self.file.read_text(encoding="utf-8"))

    def save(self) -> None:
        """The new list replaces the old one as a whole."""
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.items, ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, self.file)

    def add(self, text: str) -> None:
        with self.changing:
            self.items.append({"text": text, "done": False})
            self.save()

    def lines(self) -> list[str]:
        """The row that begins with ``▸`` is drawn as the selected one."""
        rows = [f"{'✓' if item['done'] else '□'} {item['text']}" for item in self.items]
        marked = [f"{'▸' if place == self.chosen else ' '} {row}" for place, row in enumerate(rows)]
        return marked or ["nothing to do"]

    def press(self, key: str, text: str) -> None:
        with self.changing:
            self._press(key, text)

    def _press(self, key: str, text: str) -> None:
        if not self.items:
            return
        if key in ("up", "down"):
            self.chosen = (self.chosen + (1 if key == "down" else -1)) % len(self.items)
        elif key == "enter" or text == " ":
            self.items[self.chosen]["done"] = not self.items[self.chosen]["done"]
        elif key == "delete" or text == "d":
            del self.items[self.chosen]
            self.chosen = max(0, min(self.chosen, len(self.items) - 1))
        self.save()


todos = Todos()
ext.on_hello(todos.load)


@ext.command("todo", "show the list, or add to it")
def command(args: str) -> Response:
    if args:
        todos.add(args)
        return Response.display(f"added: {args}")
    return Response.open_panel(PANEL, title="To do", lines=todos.lines(), footer=FOOTER)


@ext.on_panel_key(PANEL)
def key(key: str, text: str) -> None:
    todos.press(key, text)
    ext.render_panel(PANEL, lines=todos.lines(), footer=FOOTER)


@ext.tool("todo_list")
def todo_list() -> str:
    """The user's list of things to do."""
    return "\n".join(todos.lines())


if __name__ == "__main__":
    ext.run()

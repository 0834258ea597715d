"""A small modal keymap for the prompt, after vi: esc leaves insert mode, i returns to it.

The keymap is data that zot runs, so a key never waits for this process. zot has a complete vi mode (``/vim``).
"""

from __future__ import annotations

from zot.ext import Extension, line

MOVES = {"h": "left", "l": "right", "k": "up", "j": "down", "w": "word_right", "b": "word_left", "0": "line_start"}
ext = Extension("modal-editor", "1.0.0")
ext.keymap(
    "modal",
    {
        "insert": {"printable": "insert", "keys": {"esc": {"mode": "normal"}}},
        "normal": {
            "label": line((" NORMAL ", "reverse")),
            "printable": "ignore",
            "keys": {
                **MOVES,
                "$": "line_end",
                "x": "delete",
                "u": "undo",
                "i": {"mode": "insert"},
                "a": {"then": ["right", {"mode": "insert"}]},
                "A": {"then": ["line_end", {"mode": "insert"}]},
                "o": {"then": ["line_end", "newline", {"mode": "insert"}]},
                "d": {"mode": "delete"},
                "enter": "submit",
                "esc": "pass",
            },
        },
        "delete": {
            "label": line((" DELETE ", "reverse")),
            "printable": "ignore",
            "keys": {
                "d": {"then": ["delete_line", {"mode": "normal"}]},
                "w": {"then": ["word_right", "delete_word", {"mode": "normal"}]},
                "esc": {"mode": "normal"},
            },
        },
    },
    start="insert",
)

if __name__ == "__main__":
    ext.run()

"""The word ``ultrathink`` in the prompt moves through the colours of the rainbow; issue numbers are links.

The decorations are data that zot draws and animates: no frame is sent while you type.
"""

from __future__ import annotations

from zot.ext import Extension

COLOURS = ["#ff5f5f", "#ffaf5f", "#ffff87", "#87d787", "#5fafff", "#af87ff"]
ext = Extension("rainbow-editor", "1.0.0")
styles = [{"fg": colour} for colour in COLOURS]
ext.decorate(
    "rainbow",
    styles,
    match="ultrathink",
    ignore_case=True,
    frames=[styles[turn:] + styles[:turn] for turn in range(len(styles))],
    every_ms=120,
)
ext.decorate("issues", [{"style": "link underline"}], pattern=r"#[0-9]+")

if __name__ == "__main__":
    ext.run()

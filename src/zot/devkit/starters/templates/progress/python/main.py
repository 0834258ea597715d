"""__NAME__: a tool that shows its progress. Try it with `zot --ext .`; test it with `python3 test_main.py`."""

from __future__ import annotations

from pathlib import Path

from zot.ext import Context, Extension

ext = Extension("__NAME__", "0.1.0")


@ext.tool("__TOOL__", timeout_s=60)  # a limit of silence: each progress begins it again
def count_lines(folder: str, ctx: Context) -> object:
    """Count the lines of the text files in a folder."""
    place = Path(ext.host.cwd, folder)  # the user's project; this process runs in the extension's directory
    if not place.is_dir():
        return ctx.error(f"{folder}: no such folder")
    files = sorted(path for path in place.iterdir() if path.is_file())
    lines = 0
    for number, path in enumerate(files, 1):
        if ctx.cancelled:  # the user pressed esc; what is returned now is ignored
            return "cancelled"
        # `content` is what the model gets if the call is cancelled: work that is done is not lost
        ctx.progress(path.name, number / len(files), content=f"{lines} lines so far, without {path.name}")
        lines += path.read_bytes().count(b"\n")
    return f"{lines} lines in {len(files)} files"


if __name__ == "__main__":
    ext.run()

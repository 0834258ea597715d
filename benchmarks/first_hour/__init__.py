"""``make first-hour``: the first hour of zot, Claude Code and Codex side by side, at 80x24 and 120x40.

Each program is driven in tmux with the same prompts and the same scripted model, in a fresh home.

- ``script.py``: the prompts and the answers of the model
- ``programs.py``: how each program is prepared, started and answered
- ``user.py``: presses keys, counts them, measures the waits, saves the screens
- ``hour.py``: the steps and what is expected of each
- ``report.py``: ``report.md`` and the table at the end
"""

"""A guard that does not subscribe to tool calls."""
# breaks: registration-guard
# manifest: {"name": "sample", "exec": "python3", "args": ["main.py"], "guard": true}

from good import Good


class Broken(Good):
    intercept = ("turn_start",)


Broken().run()

"""Crashes on an unknown key."""
# breaks: panels-keys

from good import Good


class Broken(Good):
    def panel_key(self, frame):
        if frame["key"] not in ("up", "down", "left", "right", "enter", "rune"):
            raise KeyError(frame["key"])


Broken().run()

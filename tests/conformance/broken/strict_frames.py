"""Exits on an unknown frame."""
# breaks: input-unknown-frames

from good import Good


class Broken(Good):
    def unknown(self, frame):
        raise ValueError("unexpected frame")


Broken().run()

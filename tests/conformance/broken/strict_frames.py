"""Ends on a frame it does not know."""
# breaks: input-unknown-frames

from good import Good


class Broken(Good):
    def unknown(self, frame):
        raise ValueError("unexpected frame")


Broken().run()

"""Frames without a line feed."""
# breaks: framing-newline handshake-hello-in-time

from good import Good


class Broken(Good):
    def write(self, text):
        super().write(text.rstrip("\n"))


Broken().run()

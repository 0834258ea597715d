"""Writes Latin-1."""
# breaks: framing-utf8

import sys

from good import Good


class Broken(Good):
    def command(self, frame):
        self.send("command_response", id=frame["id"], action="display", display="caf\u00e9")

    def write(self, text):
        sys.stdout.buffer.write(text.encode("latin-1", "replace"))
        sys.stdout.buffer.flush()


Broken().run()

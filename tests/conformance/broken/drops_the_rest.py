"""Drops frames received together with the one it answers."""
# breaks: input-coalesced

import json
import os

from good import Good


class Broken(Good):
    def serve(self):
        kept = b""
        while data := os.read(0, 1 << 16):
            kept += data
            while b"\n" in kept:
                line, kept = kept.split(b"\n", 1)
                frame = json.loads(line)
                self.handle(frame)
                if frame["type"] == "event_intercept":
                    kept = kept[kept.rfind(b"\n") + 1 :]


Broken().run()

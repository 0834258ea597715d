"""Treats the result of one read as whole frames."""
# breaks: input-split input-long-frame interception-odd-input

import contextlib
import json
import os

from good import Good


class Broken(Good):
    def serve(self):
        while data := os.read(0, 1 << 20):
            for line in filter(lambda line: line.startswith(b"{"), data.splitlines()):
                with contextlib.suppress(ValueError):
                    self.handle(json.loads(line))


Broken().run()

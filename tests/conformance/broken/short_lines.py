"""Reads lines of at most 64 KiB."""
# breaks: input-long-frame interception-odd-input

import json
import sys

from good import Good


class Broken(Good):
    def serve(self):
        while line := sys.stdin.buffer.readline(65536):
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            self.handle(frame)


Broken().run()

"""Answers on the wrong stream."""
# breaks: framing-stdout commands-answered

import sys

from good import Good, pack


class Broken(Good):
    def command(self, frame):
        print(pack({"type": "command_response", "id": frame["id"], "action": "noop"}), file=sys.stderr, flush=True)


Broken().run()

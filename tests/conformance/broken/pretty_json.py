"""Pretty-printed JSON."""
# breaks: framing-one-line

import json

from good import Good


class Broken(Good):
    def tool(self, frame):
        answer = {"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "x"}]}
        self.write(json.dumps(answer, indent=2) + "\n")


Broken().run()

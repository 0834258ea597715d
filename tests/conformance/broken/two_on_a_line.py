"""Two frames on one line."""
# breaks: framing-one-line

from good import Good, pack


class Broken(Good):
    def tool(self, frame):
        answer = {"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "x"}]}
        self.write(pack({"type": "clear_notes"}) + pack(answer) + "\n")


Broken().run()

"""A result above 8 MiB."""
# breaks: framing-size tools-answered

from good import Good


class Broken(Good):
    def tool(self, frame):
        self.send("tool_result", id=frame["id"], content=[{"type": "text", "text": "x" * 8_400_000}])


Broken().run()

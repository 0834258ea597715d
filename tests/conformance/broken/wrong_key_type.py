"""content is a string."""
# breaks: framing-key-types

from good import Good


class Broken(Good):
    def tool(self, frame):
        self.send("tool_result", id=frame["id"], content="just text")


Broken().run()

"""A block type that does not exist."""
# breaks: tools-content

from good import Good


class Broken(Good):
    def tool(self, frame):
        self.send("tool_result", id=frame["id"], content=[{"type": "markdown", "text": "*x*"}])


Broken().run()

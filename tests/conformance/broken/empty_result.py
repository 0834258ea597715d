"""A result without content."""
# breaks: tools-content

from good import Good


class Broken(Good):
    def tool(self, frame):
        self.send("tool_result", id=frame["id"], content=[])


Broken().run()

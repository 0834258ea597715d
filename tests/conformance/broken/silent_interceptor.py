"""Does not answer for tool calls."""
# breaks: interception-answered

from good import Good


class Broken(Good):
    def intercepted(self, frame):
        if frame["event"] != "tool_call":
            super().intercepted(frame)


Broken().run()

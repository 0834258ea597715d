"""Answers only when the arguments look as expected."""
# breaks: interception-odd-input

from good import Good


class Broken(Good):
    def intercepted(self, frame):
        if frame["event"] != "tool_call" or frame["tool_name"] != "bash" or "command" in frame["tool_args"]:
            super().intercepted(frame)


Broken().run()

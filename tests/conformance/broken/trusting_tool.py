"""Crashes when an argument is missing."""
# breaks: tools-empty-args

from good import Good


class Broken(Good):
    def tool(self, frame):
        super().tool({**frame, "args": {"text": frame["args"]["text"]}})


Broken().run()

"""A forgotten print."""
# breaks: framing-only-frames

from good import Good


class Broken(Good):
    def tool(self, frame):
        print("called with", frame["args"].keys(), flush=True)
        super().tool(frame)


Broken().run()

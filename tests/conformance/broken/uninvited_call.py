"""Calls a tool of a host that did not offer it."""
# breaks: call-tool-only-if-offered

from good import Good


class Broken(Good):
    def event(self, frame):
        self.send("call_tool", id="c1", name="read", args={"path": "x"})


Broken().run()

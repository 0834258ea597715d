"""Calls a tool from inside a tool without naming the parent."""
# breaks: call-tool-well-formed

from good import Good


class Broken(Good):
    def on_ack(self, ack):
        self.offered = "call_tool" in ack.get("capabilities", ())

    def tool(self, frame):
        if self.offered:
            self.send("call_tool", id=f"for-{frame['id']}", name="read", args={"path": "x"})
        super().tool(frame)


Broken().run()

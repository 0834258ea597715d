"""NaN is not JSON."""
# breaks: framing-strict-json

from good import Good


class Broken(Good):
    def tool(self, frame):
        self.send(
            "tool_result", id=frame["id"], content=[{"type": "text", "text": "x"}], structured_content=float("nan")
        )


Broken().run()

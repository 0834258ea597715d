"""modified_args is a list."""
# breaks: interception-values

from good import Good


class Broken(Good):
    def intercepted(self, frame):
        if frame["event"] == "tool_call":
            self.send("event_intercept_response", id=frame["id"], modified_args=["notes.txt"])
        else:
            super().intercepted(frame)


Broken().run()

"""The text stands under the wrong key."""
# breaks: commands-payload

from good import Good


class Broken(Good):
    def command(self, frame):
        self.send("command_response", id=frame["id"], action="prompt", text="hello")


Broken().run()

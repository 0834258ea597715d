"""Crashes without arguments."""
# breaks: commands-answered

from good import Good


class Broken(Good):
    def command(self, frame):
        self.send("command_response", id=frame["id"], action="display", display=frame["args"])


Broken().run()

"""An action that does not exist."""
# breaks: commands-action

from good import Good


class Broken(Good):
    def command(self, frame):
        self.send("command_response", id=frame["id"], action="show", display="hello")


Broken().run()

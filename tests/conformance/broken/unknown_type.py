"""A type with a typing error."""
# breaks: framing-known-types

from good import Good


class Broken(Good):
    def command(self, frame):
        self.send("command_reply", id=frame["id"], action="noop")


Broken().run()

"""Turns an id into a number."""
# breaks: answers-string-ids

from good import Good


class Broken(Good):
    def command(self, frame):
        id = frame["id"]
        self.send("command_response", id=int(id) if id.isdigit() else id, action="noop")


Broken().run()

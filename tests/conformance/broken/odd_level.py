"""A level that is spelled otherwise."""
# warns: notes-level

from good import Good


class Broken(Good):
    def event(self, frame):
        self.send("notify", level="warning", message="careful")


Broken().run()

"""Submits a slash command without its slash."""
# breaks: notes-submitted-text

from good import Good


class Broken(Good):
    def event(self, frame):
        self.send("submit_slash", text="help")


Broken().run()

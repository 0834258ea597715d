"""Crashes on a message without text."""
# breaks: events-survived

from good import Good


class Broken(Good):
    def event(self, frame):
        if frame["event"] == "assistant_message":
            frame["text"].split()


Broken().run()

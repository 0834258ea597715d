"""Answers each question twice."""
# breaks: answers-once

from good import Good


class Broken(Good):
    def intercepted(self, frame):
        super().intercepted(frame)
        super().intercepted(frame)


Broken().run()

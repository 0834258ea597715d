"""Prints an extra line feed after each frame."""
# breaks: framing-no-blank-lines

from good import Good


class Broken(Good):
    def write(self, text):
        super().write(text + "\n")


Broken().run()

"""A print adds a line feed of its own."""
# breaks: framing-no-blank-lines

from good import Good


class Broken(Good):
    def write(self, text):
        super().write(text + "\n")


Broken().run()

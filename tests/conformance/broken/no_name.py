"""hello has an empty name."""
# breaks: handshake-hello-name

from good import Good


class Broken(Good):
    name = ""


Broken().run()

"""hello has another name than the manifest."""
# warns: handshake-hello-name

from good import Good


class Broken(Good):
    name = "simple"


Broken().run()

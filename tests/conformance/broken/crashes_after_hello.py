"""Ends between hello and ready."""
# breaks: start-alive

from good import Good


class Broken(Good):
    def register(self):
        raise SystemExit("cannot register")


Broken().run()

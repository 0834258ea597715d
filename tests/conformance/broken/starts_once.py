"""Leaves a pid file behind and does not start again."""
# breaks: lifecycle-restart

import pathlib
import sys

from good import Good


class Broken(Good):
    def start(self):
        self.mark = pathlib.Path("..", "sample-was-here")
        if self.mark.exists():
            sys.exit("already running")
        self.mark.touch()
        super().start()


Broken().run()

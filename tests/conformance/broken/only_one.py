"""Holds a lock for the whole run."""
# breaks: lifecycle-two-at-once

import fcntl
import sys

from good import Good


class Broken(Good):
    def start(self):
        self.lock = open("../sample-lock", "w")  # noqa: SIM115
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another one is running")
        super().start()


Broken().run()

"""Starts a program and forgets it."""
# breaks: lifecycle-no-orphans

import subprocess

from good import Good


class Broken(Good):
    def on_ack(self, ack):
        subprocess.Popen(["sleep", "30"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


Broken().run()

"""Works in the loop that reads."""
# breaks: events-keeps-reading

import time

from good import Good


class Broken(Good):
    def event(self, frame):
        time.sleep(0.1)


Broken().run()

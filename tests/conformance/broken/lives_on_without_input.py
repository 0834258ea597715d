"""Does not notice the end of its input."""
# breaks: lifecycle-end-of-input

import time

from good import Good


class Broken(Good):
    def run(self):
        super().run()
        time.sleep(60)


Broken().run()

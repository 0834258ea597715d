"""A program it starts inherits stdout."""
# breaks: framing-only-frames

import subprocess

from good import Good


class Broken(Good):
    def tool(self, frame):
        subprocess.run(["echo", "done"], check=True)
        super().tool(frame)


Broken().run()

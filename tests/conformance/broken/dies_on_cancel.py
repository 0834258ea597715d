"""A cancelled call takes the process along."""
# breaks: tool-cancel-accepted

from good import Good


class Broken(Good):
    def tool_cancel(self, frame):
        raise KeyboardInterrupt


Broken().run()

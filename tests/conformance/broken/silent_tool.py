"""Never answers a tool call."""
# breaks: tools-answered

from good import Good


class Broken(Good):
    def tool(self, frame):
        pass


Broken().run()

"""Never answers a command."""
# breaks: commands-answered

from good import Good


class Broken(Good):
    def command(self, frame):
        pass


Broken().run()

"""A key twice."""
# breaks: framing-strict-json

from good import Good


class Broken(Good):
    def command(self, frame):
        self.write(f'{{"type":"command_response","id":"{frame["id"]}","action":"noop","action":"noop"}}\n')


Broken().run()

"""The registrations come first."""
# breaks: handshake-hello-first

from good import Good


class Broken(Good):
    def start(self):
        self.register()
        super().start()

    def run(self):
        self.start()
        self.send("ready")
        self.serve()


Broken().run()

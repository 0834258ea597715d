"""A command with its slash."""
# breaks: registration-command-names

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        self.send("register_command", name="/other", description="")


Broken().run()

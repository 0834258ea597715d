"""Two commands that differ in case only."""
# breaks: registration-twice

from good import Good


class Broken(Good):
    def register(self):
        super().register()
        self.send("register_command", name="Sample", description="")


Broken().run()

"""Writes its state into its own directory."""
# warns: lifecycle-clean-directory

from good import Good


class Broken(Good):
    def on_ack(self, ack):
        with open("state.json", "w") as file:
            file.write("{}")


Broken().run()

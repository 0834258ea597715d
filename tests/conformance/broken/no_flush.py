"""Everything stays in a buffer until the end."""
# breaks: framing-flush

from good import Good


class Broken(Good):
    out = open(1, "w", buffering=1 << 16, closefd=False)  # noqa: SIM115

    def write(self, text):
        self.out.write(text)


Broken().run()

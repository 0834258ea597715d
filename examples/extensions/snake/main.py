"""Snake in a panel over the conversation: ``/snake``. Arrows turn, space pauses, esc closes."""

from __future__ import annotations

import random
import threading

from zot.ext import Extension, Response, line

WIDTH, HEIGHT, EVERY_S = 30, 12, 0.12
TURNS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
ext = Extension("snake", "1.0.0")


class Game:
    def __init__(self) -> None:
        self.body = [(5, 6), (4, 6), (3, 6)]
        self.way = (1, 0)
        self.food = (12, 6)
        self.over = self.paused = False

    def turn(self, way: tuple[int, int]) -> None:
        if (way[0] + self.way[0], way[1] + self.way[1]) != (0, 0):  # not back into itself
            self.way = way

    def step(self) -> None:
        x, y = self.body[0]
        head = ((x + self.way[0]) % WIDTH, (y + self.way[1]) % HEIGHT)
        if head in self.body:
            self.over = True
            return
        self.body.insert(0, head)
        if head == self.food:
            self.food = random.choice([(x, y) for x in range(WIDTH) for y in range(HEIGHT) if (x, y) not in self.body])
        else:
            self.body.pop()

    def rows(self) -> list[list[object]]:
        cells = {point: ("█", "success") for point in self.body} | {self.food: ("●", "error")}
        return [line(*(cells.get((x, y), ("·", "muted")) for x in range(WIDTH))) for y in range(HEIGHT)]


game: Game | None = None


def show() -> None:
    if game is not None:
        state = "game over: space begins again" if game.over else "paused" if game.paused else "arrows turn"
        ext.render_panel("snake", f"snake · {len(game.body)}", rows=[*game.rows(), line((state, "muted"))])


def play(played: Game) -> None:
    tick = threading.Event()
    while played is game and not tick.wait(EVERY_S):
        if not (played.over or played.paused):
            played.step()
            show()


def begin() -> None:
    global game
    game = Game()
    threading.Thread(target=play, args=(game,), daemon=True).start()


@ext.command("snake", "play snake while the agent works")
def start(args: str) -> Response:
    begin()
    ext.open_panel(
        "snake", "snake", rows=game.rows(), place={"mode": "overlay", "anchor": "center", "width": WIDTH + 4}
    )
    return Response.noop()


def closed() -> None:
    global game
    game = None


@ext.on_panel_key("snake", on_close=closed)
def pressed(key: str, text: str) -> None:
    if game is None:
        return
    if key in TURNS:
        game.turn(TURNS[key])
    elif text == " " and game.over:
        begin()
    elif text == " ":
        game.paused = not game.paused
    show()


if __name__ == "__main__":
    ext.run()

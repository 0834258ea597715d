"""The films as pictures that move: ``docs/pictures/zot.svg`` from the recording ``zot.cast``, and ``first-hour.svg``.

A page that shows pictures shows it, without a player. Every row that was ever on the screen is drawn once; SMIL says
when and where it is seen. A viewer that moves nothing shows the moment the film looks at longest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyte

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from docs.make_pictures import CELL_H, CELL_W, GROUNDS, PAD, row_parts  # noqa: E402

STEP_S = 0.1  # what is on the screen for less is not drawn
REST_S = 2.0  # the last picture stays, then it begins again
BACK, FRONT = GROUNDS["dark"]
FILMS = {
    "zot": "zot fixes a function, tests it, and prints the cost",
    "first-hour": "The first hour: a mode, a key, a file, an approval, a plan, a cancelled turn, a resume",
}


class Look(NamedTuple):
    """What a person sees from ``at`` on: the rows, drawn, and where the cursor is (None: hidden)."""

    at: float
    rows: tuple[str, ...]
    cursor: tuple[int, int] | None


def looks(cast: Path) -> Iterator[Look]:
    head, *frames = map(msgspec.json.decode, cast.read_bytes().splitlines())
    screen = pyte.Screen(head["width"], head["height"])
    stream = pyte.Stream(screen)
    for index, (at, _, text) in enumerate(frames):
        stream.feed(text)
        following = frames[index + 1][0] if index + 1 < len(frames) else at + REST_S
        if int(following / STEP_S) > int(at / STEP_S):
            yield Look(at, tuple(_drawn(screen, y) for y in range(screen.lines)), _cursor(screen))


def _drawn(screen: Any, y: int) -> str:
    return "".join(row_parts([screen.buffer[y][x] for x in range(screen.columns)], 0, BACK, FRONT))


def _cursor(screen: Any) -> tuple[int, int] | None:
    return None if screen.cursor.hidden else (screen.cursor.x, screen.cursor.y)


def film(seen: list[Look], columns: int, title: str) -> str:
    length = seen[-1].at + REST_S
    width, height = columns * CELL_W + 2 * PAD, len(seen[0].rows) * CELL_H + 2 * PAD
    names = {
        text: f"r{number}" for number, text in enumerate(dict.fromkeys(r for look in seen for r in look.rows if r))
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
        f"<title>{title}</title>",
        "<defs>",
        *(f'<g id="{name}">{text}</g>' for text, name in names.items()),
        "</defs>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
    ]
    poster = max(pairwise(seen), key=lambda pair: pair[1].at - pair[0].at)[0].at
    for y in range(len(seen[0].rows)):
        parts += [
            _use(names[text], y, spans, length, poster) for text, spans in _spans(seen, y, length).items() if text
        ]
    parts.append(_moving_cursor(seen, length))
    return "\n".join([*parts, "</svg>\n"])


def _spans(seen: list[Look], y: int, length: float) -> dict[str, list[tuple[float, float]]]:
    """When each text stands in row ``y``."""
    found: dict[str, list[tuple[float, float]]] = {}
    for look, end in zip(seen, [*(later.at for later in seen[1:]), length], strict=True):
        spans = found.setdefault(look.rows[y], [])
        if spans and spans[-1][1] == look.at:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((look.at, end))
    return found


def _use(name: str, y: int, spans: list[tuple[float, float]], length: float, poster: float) -> str:
    shown = any(start <= poster < end for start, end in spans)
    times, values = ["0"], ["none"]
    for start, end in spans:
        times += [f"{start / length:.4f}", f"{min(end / length, 1):.4f}"]
        values += ["inline", "none"]
    move = (
        f'<animate attributeName="display" calcMode="discrete" dur="{length:.1f}s" repeatCount="indefinite" '
        f'keyTimes="{";".join(times)}" values="{";".join(values)}"/>'
    )
    hidden = "" if shown else ' display="none"'
    return f'<use href="#{name}" y="{y * CELL_H}"{hidden}>{move}</use>'


def _moving_cursor(seen: list[Look], length: float) -> str:
    times = ";".join(["0", *(f"{look.at / length:.4f}" for look in seen)])
    places = [None, *(look.cursor for look in seen)]
    columns = ";".join(f"{PAD + place[0] * CELL_W:.1f}" if place else "-20" for place in places)
    rows = ";".join(f"{PAD + place[1] * CELL_H}" if place else "-20" for place in places)
    how = f'calcMode="discrete" dur="{length:.1f}s" repeatCount="indefinite" keyTimes="{times}"'
    moves = f'<animate attributeName="x" {how} values="{columns}"/><animate attributeName="y" {how} values="{rows}"/>'
    return f'<rect x="-20" width="{CELL_W}" height="{CELL_H}" fill="{FRONT}" opacity="0.5">{moves}</rect>'


def draw(name: str, title: str) -> Path:
    cast = ROOT / "docs" / "pictures" / f"{name}.cast"
    columns = msgspec.json.decode(cast.read_bytes().splitlines()[0])["width"]
    path = cast.with_suffix(".svg")
    path.write_text(film(list(looks(cast)), columns, title), encoding="utf-8")
    return path


if __name__ == "__main__":
    for name, title in FILMS.items():
        print(draw(name, title).relative_to(ROOT))

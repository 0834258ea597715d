"""The film of the README is the recording, drawn: neither can change without the other."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.make_film import FILMS, film, looks

PICTURES = Path(__file__).parents[2] / "docs/pictures"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("name", "columns"), [("zot", 90), ("first-hour", 80)])
def test_the_film_shows_the_recording(name: str, columns: int) -> None:
    seen = list(looks(PICTURES / f"{name}.cast"))
    drawn = (PICTURES / f"{name}.svg").read_text("utf-8")
    assert film(seen, columns, FILMS[name]) == drawn, "run `python docs/make_film.py`"


@pytest.mark.parametrize("name", FILMS)
def test_film_is_valid_and_has_still_and_motion(name: str) -> None:
    root = ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    rows = root.findall(f"{SVG}use")
    still = [row.get("y") for row in rows if row.get("display") != "none"]
    assert len(still) == len(set(still)) > 5, "one text in each row where nothing moves"
    for move in root.iter(f"{SVG}animate"):
        times = [float(time) for time in (move.get("keyTimes") or "").split(";")]
        assert times[0] == 0 and times == sorted(times) and times[-1] <= 1
        assert len(times) == len((move.get("values") or "").split(";"))

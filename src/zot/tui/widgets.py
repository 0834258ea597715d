"""Screen widgets: a list to choose from, a text field, the status bar. State in, styled rows out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from zot.tui.fuzzy import SCATTERED, Pattern, best
from zot.tui.keys import Key
from zot.tui.sanitize import beginning, one_line
from zot.tui.theme import Theme
from zot.tui.width import cells, clusters, cut, pad

# A list to choose from: it moves, pages, filters by fuzzy match and shows a window around the selected row.


class Choice(msgspec.Struct, frozen=True):
    """One row. ``detail`` is muted in a second column; a ``divider`` cannot be chosen.
    ``shorter`` are other versions of the detail, the best first: the first that fits is used, or none; other details
    are truncated. A filter searches ``searched``, else label and detail."""

    value: str
    label: str
    detail: str = ""
    divider: bool = False
    shorter: tuple[str, ...] = ()
    searched: str = ""


_LONGEST = 500  # characters of a label or detail: no row shows more


class SelectList:
    """``key`` returns whether it used the key; ``chosen`` is the selected row, None if nothing matches.
    The best match comes first; in an ``ordered`` list matches keep their order. A caller that filters the rows
    itself sets ``found``."""

    def __init__(
        self,
        choices: Sequence[Choice],
        *,
        filterable: bool = True,
        selected: str = "",
        ordered: bool = False,
        found: Pattern | None = None,
    ) -> None:
        self.filter = ""
        self._pattern = found or Pattern("")
        self._ordered = ordered
        self._all = _short(choices)
        self._filterable = filterable
        self._shown = self._all
        self._position = 0
        self._before = ""  # the selected row when a filter began
        self.select(selected)

    def set_choices(self, choices: Sequence[Choice]) -> None:
        kept = self.chosen.value if self.chosen else ""
        self._all = _short(choices)
        self._refilter()
        self.select(kept)

    def select(self, value: str) -> None:
        found = (i for i, choice in enumerate(self._shown) if choice.value == value and not choice.divider)
        self._position = next(found, self._first())

    @property
    def chosen(self) -> Choice | None:
        if 0 <= self._position < len(self._shown) and not self._shown[self._position].divider:
            return self._shown[self._position]
        return None

    def key(self, key: Key, page: int = 10) -> bool:
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "ctrl+p": -1, "ctrl+n": 1}
        if key.name in steps:
            self._move(steps[key.name])
        elif key.name in ("home", "end"):
            self._move(len(self._shown) * (1 if key.name == "end" else -1))
        elif self._filterable and key.name == "backspace" and self.filter:
            self.filter = self.filter[:-1]
            self._refilter()
        elif self._filterable and key.name in ("ctrl+u", "ctrl+w") and self.filter:
            self.filter = "" if key.name == "ctrl+u" else self.filter.rstrip().rpartition(" ")[0]
            self._refilter()
        elif self._filterable and key.printable and not (key.text == " " and not self.filter):
            if not self.filter:
                self._before = self.chosen.value if self.chosen else ""
            self.filter += key.text
            self._refilter()
        else:
            return False
        return True

    def _move(self, step: int) -> None:
        places = [i for i, choice in enumerate(self._shown) if not choice.divider]
        if not places:
            return
        nearest = min(range(len(places)), key=lambda i: abs(places[i] - self._position))
        self._position = places[min(max(nearest + step, 0), len(places) - 1)]

    def _first(self) -> int:
        return next((i for i, choice in enumerate(self._shown) if not choice.divider), 0)

    def _refilter(self) -> None:
        """Select the best match; without a filter, the previous selection."""
        self._pattern = Pattern(self.filter)
        if not self.filter:
            self._shown = self._all
            self.select(self._before)
            return
        self._shown = filtered(self._pattern, self._all, ordered=self._ordered)
        self._position = self._first()

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows, with the numbers of rows above and below."""
        if not self._shown:
            return [theme.paint("muted", cut("  nothing matches", width))]
        first, last = window(len(self._shown), self._position, max(height, 1))
        column, details = columns(self._shown[first:last], width)
        rows = [self._row(theme, i, details[i - first], width, column) for i in range(first, last)]
        if first > 0 and height > 2:
            rows[0] = theme.paint("muted", cut(f"  ↑ {first + 1} more", width))
        if last < len(self._shown) and height > 2:
            rows[-1] = theme.paint("muted", cut(f"  ↓ {len(self._shown) - last + 1} more", width))
        return rows

    def _row(self, theme: Theme, number: int, detail: str, width: int, column: int) -> str:
        choice = self._shown[number]
        if choice.divider:
            return theme.paint("muted", cut(f"  ── {choice.label} ──", width))
        label = pad(choice.label, column) if detail else cut(choice.label, width - 2)
        if number == self._position:
            return theme.selected(cut(f"  {label}  {detail}".rstrip(), width), width)
        detail = cut(detail, width - column - 4)
        shown = pointed_out(theme, label, self._pattern)
        return f"  {shown}" + (f"  {theme.paint('muted', detail)}" if detail else "")


def _short(choices: Sequence[Choice]) -> list[Choice]:
    """Measured for every frame."""
    return [
        choice
        if len(choice.label) <= _LONGEST and len(choice.detail) <= _LONGEST
        else msgspec.structs.replace(
            choice, label=beginning(choice.label, _LONGEST), detail=beginning(choice.detail, _LONGEST)
        )
        for choice in choices
    ]


def columns(choices: Sequence[Choice], width: int) -> tuple[int, list[str]]:
    """The width of the label column, and the details that fit beside it."""
    longest = max((cells(choice.label) for choice in choices), default=0)
    room = width - 4 - min(longest, width * 3 // 5)  # which the labels always have
    details = [_fitting(choice, room) for choice in choices]
    if not any(choice.shorter for choice in choices):
        return min(longest, max(width * 2 // 3, 8)), details
    return min(longest, max(width - 4 - max(map(cells, details)), 8)), details


def _fitting(choice: Choice, room: int) -> str:
    if not choice.shorter:
        return choice.detail
    return next((text for text in (choice.detail, *choice.shorter) if cells(text) <= room), "")


def window(count: int, position: int, height: int) -> tuple[int, int]:
    """The range of ``count`` rows that shows ``position``, not under a "more" row."""
    if count <= height:
        return 0, count
    first = min(max(position - height // 2, 0), count - height)
    return first, first + height


def filtered(pattern: Pattern, choices: Sequence[Choice], *, ordered: bool = False) -> list[Choice]:
    """Matches, best first; ``ordered``: in input order."""
    ranked: list[tuple[int, Choice]] = []
    for choice in choices:
        if choice.divider:
            continue
        text, aside = (choice.searched, "") if choice.searched else (choice.label, choice.detail)
        rank = pattern.rank(text, aside)
        if rank is not None:
            ranked.append((rank // SCATTERED * SCATTERED if ordered else rank, choice))
    return [choice for _, choice in best(ranked)]


def pointed_out(theme: Theme, text: str, pattern: Pattern, role: str = "fg") -> str:
    """A text with the matches of a filter highlighted."""
    places = pattern.places(text)
    if not places:
        return theme.paint(role, text)
    runs = groupby(range(len(text)), key=places.__contains__)
    pieces = ((found, "".join(text[at] for at in run)) for found, run in runs)
    return "".join(theme.paint("accent" if found else role, piece, bold=found) for found, piece in pieces)


# A line to type into, for dialogs.


class TextField:
    """``masked`` shows dots; ``text`` is the input."""

    def __init__(self, text: str = "", *, masked: bool = False) -> None:
        self._clusters = [cluster for cluster, _ in clusters(text)]
        self._position = len(self._clusters)
        self._masked = masked

    @property
    def text(self) -> str:
        return "".join(self._clusters)

    def insert(self, text: str) -> None:
        added = [cluster for cluster, _ in clusters(one_line(text) if "\n" in text or "\x1b" in text else text)]
        self._clusters[self._position : self._position] = added
        self._position += len(added)

    def key(self, key: Key) -> bool:
        """True if the key was used."""
        if key.printable or key.name == "paste":
            self.insert(key.text)
            return True
        action = {
            "left": lambda: self._go(self._position - 1),
            "right": lambda: self._go(self._position + 1),
            "home": lambda: self._go(0),
            "end": lambda: self._go(len(self._clusters)),
            "ctrl+a": lambda: self._go(0),
            "ctrl+e": lambda: self._go(len(self._clusters)),
            "backspace": lambda: self._delete(self._position - 1, self._position),
            "delete": lambda: self._delete(self._position, self._position + 1),
            "ctrl+u": lambda: self._delete(0, self._position),
            "ctrl+k": lambda: self._delete(self._position, len(self._clusters)),
        }.get(key.name)
        if action is None:
            return False
        action()
        return True

    def _go(self, position: int) -> None:
        self._position = min(max(position, 0), len(self._clusters))

    def _delete(self, first: int, last: int) -> None:
        if first >= 0:
            del self._clusters[first:last]
            self._go(first)

    def line(self, theme: Theme, width: int) -> tuple[str, int]:
        """The row, and the column of the cursor in it."""
        shown = ["•"] * len(self._clusters) if self._masked else self._clusters
        start = 0
        while start < self._position and cells("".join(shown[start : self._position])) >= max(width - 1, 1):
            start += 1
        end = start
        while end < len(shown) and cells("".join(shown[start : end + 1])) <= width - 1:
            end += 1
        return theme.paint("fg", "".join(shown[start:end])), cells("".join(shown[start : self._position]))


# The status bar.


class Stat(msgspec.Struct, frozen=True):
    text: str
    role: str = "muted"


class StatusBar(msgspec.Struct, frozen=True):
    model: str = ""
    stats: tuple[Stat, ...] = ()
    tags: tuple[str | Stat, ...] = ()
    place: str = ""

    def lines(self, theme: Theme, width: int) -> list[str]:
        model = theme.paint("muted", self.model)
        stats = " ".join(theme.paint(stat.role, stat.text) for stat in self.stats)
        whole = _line([model, stats])
        rows = [whole] if cells(whole) <= width else [_line([model]), _line([stats])]
        if self.tags or self.place:
            rows.append(f"  {self._place(theme)}")
        return [cut(row, width) for row in rows if row.strip()]

    def _place(self, theme: Theme) -> str:
        tags = [tag if isinstance(tag, Stat) else Stat(tag) for tag in self.tags]
        place = f"- {self.place}" if tags and self.place else self.place
        return " ".join(theme.paint(part.role, part.text) for part in (*tags, Stat(place)) if part.text)


def _line(parts: Sequence[str]) -> str:
    return "  " + "  ".join(part for part in parts if part) if any(parts) else ""


def tokens(count: int) -> str:
    """``950``, ``2.7k``, ``35k``, ``1.1M``, ``12M``."""
    if count < 1_000:
        return str(count)
    for size, unit in ((1_000, "k"), (1_000_000, "M")):
        if count < 10 * size:
            return f"{count // (size // 10) / 10:.1f}{unit}"
        if count < 1_000 * size:
            return f"{count // size}{unit}"
    return f"{count // 1_000_000}M"


def duration(seconds: float) -> str:
    """``12s``, ``2m13s``, ``1h02m``."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def spinner_glyph(theme: Theme, elapsed: float) -> str:
    """The theme's spinner after this many seconds, padded to its widest frame."""
    frames = theme.spinner.frames
    frame = frames[int(elapsed * 1000 / theme.spinner.interval_ms) % len(frames)]
    return frame + " " * (max(map(cells, frames)) - cells(frame))

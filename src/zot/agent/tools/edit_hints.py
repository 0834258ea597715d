"""Why a text was not found: it differs in white space only, or this line comes closest."""

from __future__ import annotations

_MOST_LINES_SHOWN = 12
_LONGEST_LINE_SHOWN = 200
_CANDIDATES = 20
_SIMILAR = 0.5


def not_found_hint(body: str, old: str) -> str:
    lines = body.split("\n")
    wanted = old.strip("\n").split("\n")
    if found := _same_but_for_space(lines, wanted):
        first, last = found
        shown = "\n".join(_shown(line) for line in lines[first:last][:_MOST_LINES_SHOWN])
        where = f"Line {first + 1} differs" if last - first == 1 else f"Lines {first + 1}-{last} differ"
        return f"{where} only in white space or indentation; the file has:\n{shown}"
    closest = _closest(lines, next((line for line in wanted if line.strip()), ""))
    if closest is None:
        return "Nothing similar is in the file; read it again"
    return f"The closest line is {closest + 1}:\n{_shown(lines[closest])}"


def _same_but_for_space(lines: list[str], wanted: list[str]) -> tuple[int, int] | None:
    """First and one past last of the lines equal to the wanted ones when white space is left out."""
    target = [key for line in wanted if (key := _key(line))]
    present = [(number, key) for number, line in enumerate(lines) if (key := _key(line))]
    keys = [key for _, key in present]
    if not target:
        return None
    for start in (index for index, key in enumerate(keys) if key == target[0]):
        if keys[start : start + len(target)] == target:
            return present[start][0], present[start + len(target) - 1][0] + 1
    return None


def _key(line: str) -> str:
    return "".join(line.split())


def _closest(lines: list[str], wanted: str) -> int | None:
    """By shared words first, which is quick, then by the letters of the best few."""
    from difflib import SequenceMatcher  # only failures need it

    words = set(wanted.split())
    if not words:
        return None
    scored = ((len(words.intersection(line.split())), -number) for number, line in enumerate(lines) if line)
    best = sorted(scored, reverse=True)[:_CANDIDATES]
    wanted = wanted.strip()[:_LONGEST_LINE_SHOWN]
    matcher = SequenceMatcher(b=wanted, autojunk=False)
    ratios: list[tuple[float, int]] = []
    for _, number in best:
        matcher.set_seq1(lines[-number].strip()[:_LONGEST_LINE_SHOWN])
        ratios.append((matcher.ratio(), number))
    ratio, number = max(ratios, default=(0.0, 0))
    return -number if ratio >= _SIMILAR else None


def _shown(line: str) -> str:
    text = line.encode("utf-8", "replace").decode()  # surrogates stand for bytes that are no text
    return f"{text[:_LONGEST_LINE_SHOWN]}…" if len(text) > _LONGEST_LINE_SHOWN else text

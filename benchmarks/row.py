"""One line of the table: what was measured, the budget, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    measured: float
    budget: float | None  # None: for comparison only, nothing to miss
    unit: str
    at_least: bool = False  # the budget is a floor instead of a ceiling
    note: str = ""
    whose: str = ""  # the program this is a figure of, where several are compared

    @property
    def holds(self) -> bool:
        if self.budget is None:
            return True
        return self.measured >= self.budget if self.at_least else self.measured <= self.budget

    @property
    def figure(self) -> str:
        measured = f"{self.measured:,.0f}" if abs(self.measured) >= 1000 else f"{self.measured:.3g}"
        return f"{measured} {self.unit}"

    def cells(self) -> tuple[str, str, str, str, str]:
        what = f"{self.whose}: {self.what}" if self.whose else self.what
        if self.budget is None:
            return what, self.figure, "for comparison", "", self.note
        bound = "≥" if self.at_least else "≤"
        verdict = "ok" if self.holds else "MISSED"
        return what, self.figure, f"{bound} {self.budget:,g} {self.unit}", verdict, self.note

"""One line of the table: what was measured, the budget, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    measured: float
    budget: float
    unit: str
    at_least: bool = False  # the budget is a floor instead of a ceiling
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.measured >= self.budget if self.at_least else self.measured <= self.budget

    def cells(self) -> tuple[str, str, str, str, str]:
        bound = "≥" if self.at_least else "≤"
        measured = f"{self.measured:,.0f}" if abs(self.measured) >= 1000 else f"{self.measured:.3g}"
        return (
            self.what,
            f"{measured} {self.unit}",
            f"{bound} {self.budget:,g} {self.unit}",
            "ok" if self.holds else "MISSED",
            self.note,
        )

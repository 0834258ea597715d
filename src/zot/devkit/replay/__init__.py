"""Recorded runs again: shown as they were, or re-run with what was recorded in the place of the world and compared."""

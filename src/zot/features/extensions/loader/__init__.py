"""Finds the extensions of a run on disk without starting them."""

"""Attacks on zot, each through its real boundary; ``make attack`` runs them all."""

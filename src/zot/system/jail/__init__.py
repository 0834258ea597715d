"""Jail enforced by the operating system: ``policy`` describes it, ``jail`` starts commands."""

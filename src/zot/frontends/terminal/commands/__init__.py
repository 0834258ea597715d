"""Slash commands: one file each, listed once in ``registry.py``."""

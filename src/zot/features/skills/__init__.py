"""Skill files and the ``skill`` tool."""

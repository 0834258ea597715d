"""Hooks: commands of Claude Code's settings files that are asked, and told, when something happens."""

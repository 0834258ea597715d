"""Plugins: packages of skills, MCP servers, hooks and prompt templates."""

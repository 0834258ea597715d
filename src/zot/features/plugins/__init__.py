"""Plugins: packages of skills, MCP servers, hooks and prompt templates, made for several agents."""

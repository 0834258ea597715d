"""Permission rules: allow, ask and deny by tool, command, path, host and MCP server."""

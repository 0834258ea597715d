"""MCP servers: configuration, sessions, transports, tools."""

"""``zot mcp serve``: zot as an MCP server."""

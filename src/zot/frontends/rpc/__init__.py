"""``zot rpc``: the agent as a child process, controlled by JSON lines."""

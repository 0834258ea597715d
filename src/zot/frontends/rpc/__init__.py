"""``zot rpc``: the agent as a child process, driven by lines of JSON."""

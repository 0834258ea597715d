"""``zot acp``: the Agent Client Protocol, for editors."""

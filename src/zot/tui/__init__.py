"""A terminal toolkit that knows no agent."""

"""A terminal toolkit, independent of the agent."""

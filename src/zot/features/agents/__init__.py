"""Agents: the model delegates a task to an agent with a context of its own."""

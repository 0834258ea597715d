"""Agent loop, events, sessions and cost; no terminal, network or command line."""

"""The agent: loop, events, sessions and cost. It knows no terminal, no network and no argv."""

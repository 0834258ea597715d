"""What the agent did to files, kept so that one can look at it and go back: store, ledger, rewinding."""

"""The command line: flags, help and the verbs that need no agent. Modes load behind `main`."""

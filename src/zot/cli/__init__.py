"""Command line: flags, help and verbs. ``main`` imports the modes when they are needed."""

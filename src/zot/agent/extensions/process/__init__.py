"""One extension's process: its lives, its pipes and what is written down about it."""

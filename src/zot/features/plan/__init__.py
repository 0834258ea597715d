"""Plan mode with an end: the model presents a plan, the user decides about it."""

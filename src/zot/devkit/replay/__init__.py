"""Shows recorded runs, or runs them again with recorded inputs and compares."""

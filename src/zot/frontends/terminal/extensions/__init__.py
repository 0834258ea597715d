"""What extensions of the second edition show and ask in the terminal; loaded when the first one does."""

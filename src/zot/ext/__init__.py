"""What a Python extension imports: the standard library and its own frames only."""

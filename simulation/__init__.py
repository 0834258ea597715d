"""Thousands of workers without a model, a process or a minute of waiting: the real supervisor on a clock that jumps."""

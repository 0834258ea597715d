"""Readers of what comes from outside, fed with what nobody would write; the same again for the same seed."""

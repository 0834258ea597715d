"""Recordings of a run: extension frames (`--ext-trace`) and whole runs (`--record`)."""

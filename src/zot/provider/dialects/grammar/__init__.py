"""Dialect of models without tool calling: llama.cpp constrains each turn to one action with a grammar."""

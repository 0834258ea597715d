"""The dialect of models without tool calling: llama.cpp constrains them to one action per turn by a grammar.

``actions`` defines the text of an action, ``gbnf`` and ``schema_rules`` turn it into a grammar. ``turn_advice`` is what
an advisor allows for a turn: fewer tools, fixed values, or a fresh prompt in place of the transcript. ``transcript``
writes the messages, ``decoder`` reads the answer.
"""

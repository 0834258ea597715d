"""The dialect of models that cannot call tools: llama.cpp holds them to one action a turn by a grammar.

``actions`` says what an action looks like, ``gbnf`` and ``schema_rules`` how that becomes a grammar, ``coaching`` what
a weak model is allowed and told at each turn, ``transcript`` what it gets to read, ``decoder`` what its answer means.
"""

"""The dialect of models that cannot call tools: llama.cpp holds them to one action a turn by a grammar.

``actions`` says what an action looks like, ``gbnf`` and ``schema_rules`` how that becomes a grammar. ``leading``
settles the next step where the words of a task tell it, from the facts of ``history``, and ``asking`` puts it in a
prompt of its own; ``coaching`` says what a weak model is allowed and told where they do not, and ``transcript`` what
it then gets to read. ``decoder`` says what its answer means.
"""

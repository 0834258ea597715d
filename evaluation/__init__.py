"""Small agent tasks of our own, and what a model makes of them with zot around it.

A task is one file in ``tasks/``: a project, a prompt as a person would write it, a check that runs something, and a
reference solution. Nothing counts but the check: what a model says about its own work is never believed.
"""

"""The verbs of ``zot ext``, one module each: ``run(argv) -> exit status``."""

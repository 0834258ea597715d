"""The model catalogue: ``make models`` writes ``src/zot/provider/models/``; ``make generate`` writes its page."""

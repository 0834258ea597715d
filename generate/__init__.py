"""Makes every generated file of the repository; ``python -m generate`` writes them, ``--check`` finds stale ones."""

"""Which extensions a run has, found on disk without starting any of them."""

"""One file per wire dialect, each with all that is peculiar to it. Dialects do not know each other."""

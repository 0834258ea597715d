"""Money: what every run has spent, and the limits that are held before a request is made."""

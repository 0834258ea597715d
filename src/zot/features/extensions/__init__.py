"""Extension processes: ``host`` runs them, ``loader`` finds them on disk, ``install`` copies and records them."""

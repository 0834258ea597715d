"""Files that keep what a run did: frames of extensions (`--ext-trace`) and whole runs (`--record`)."""

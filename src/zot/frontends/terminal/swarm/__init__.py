"""Workers of a swarm in the terminal."""

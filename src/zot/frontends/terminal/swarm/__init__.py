"""Workers of a swarm as the terminal knows them."""

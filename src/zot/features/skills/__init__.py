"""Skills: where they come from, and what the model sees of them."""

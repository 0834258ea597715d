"""Guests that speak the Model Context Protocol: their servers, and what the model gets of them."""

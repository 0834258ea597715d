"""Model providers that extensions bring; see ``registry.py``."""

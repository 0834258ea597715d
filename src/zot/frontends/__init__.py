"""The ways to run zot; each reads the same event stream and none imports another."""

"""Front ends of zot; each reads the same event stream and none imports another."""

"""The frames spoken with extensions and RPC clients: the single source of the wire."""

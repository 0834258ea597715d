"""``zot serve``: conversations for several clients on this machine, over HTTP and WebSocket."""

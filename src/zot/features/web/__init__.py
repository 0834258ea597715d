"""Web pages and web search: the tools ``web_fetch`` and ``web_search``."""

"""Logins by OAuth: in a browser (PKCE), by device code, and keeping them fresh. Knows servers, not model providers.

Everything a server may differ in is a field of ``OAuthSettings``; no client id of anybody's ships with zot. Nothing
here is loaded before somebody logs in or a stored login must be refreshed.
"""

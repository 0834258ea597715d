"""OAuth logins: browser (PKCE), device code, refresh. All differences between servers are fields of
``OAuthSettings``; zot ships no client id."""

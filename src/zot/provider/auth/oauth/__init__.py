"""OAuth logins: browser (PKCE), device code, refresh.
All differences between servers are fields of ``OAuthSettings``; zot includes no client id."""

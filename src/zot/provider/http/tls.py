"""Which certificates we accept: those of the system's authorities, or those the environment names.

``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` come first, then ``REQUESTS_CA_BUNDLE``, then ``CURL_CA_BUNDLE``.
A variable that names nothing is an error, because an empty trust store fails much later and without a clear reason.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping

from zot.errors import BadRequest

# Where distributions keep their bundle, for interpreters built elsewhere that do not know.
_KNOWN_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def client_context(environ: Mapping[str, str], *, insecure: bool = False) -> ssl.SSLContext:
    """A context for http/1.1 clients; ``insecure`` checks nothing and is only ever a user's explicit choice."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _load_authorities(context, environ)
    return context


def _load_authorities(context: ssl.SSLContext, environ: Mapping[str, str]) -> None:
    named = [(name, environ[name]) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if environ.get(name)]
    if not named:
        named = [(name, environ[name]) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE") if environ.get(name)][:1]
    for name, value in named:
        _load_named(context, name, value)
    if not named:
        _load_system(context)


def _load_named(context: ssl.SSLContext, name: str, value: str) -> None:
    places = value.split(os.pathsep) if name == "SSL_CERT_DIR" else [value]
    for place in places:
        try:
            if os.path.isdir(place):
                context.load_verify_locations(capath=place)
            else:
                context.load_verify_locations(cafile=place)
        except OSError as error:  # ssl.SSLError is one
            raise BadRequest(f"tls: {name}={value}: no usable certificates there ({error}); fix or unset it") from error


def _load_system(context: ssl.SSLContext) -> None:
    paths = ssl.get_default_verify_paths()
    if paths.cafile or paths.capath:
        context.set_default_verify_paths()
        return
    for bundle in _KNOWN_BUNDLES:
        if os.path.exists(bundle):
            context.load_verify_locations(cafile=bundle)
            return

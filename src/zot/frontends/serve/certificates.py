"""The certificate of this machine for its local network, made with the program ``openssl``.

``$ZOT_HOME/serve-tls`` has the key (0600), which stays, and a certificate that it signs itself. The certificate is made
again when it ends soon, the clock is before it, or this machine has a name or address that it lacks; those that it had
stay in it, so that going back to a network changes nothing."""

from __future__ import annotations

import ipaddress
import subprocess
import tempfile
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ConfigError, ZotError
from zot.system.files import find_program, make_private_dir, sync_dir, write_atomic
from zot.system.json_store import JsonStore
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    import ssl

DIRECTORY = "serve-tls"
DAYS = 397  # browsers refuse more
_DAY_S = 86_400
_LEFT_S = 14 * _DAY_S
_NAMES_MAX = 20
_OPENSSL_S = 30.0
_ADVICE = "delete the directory: zot makes a new certificate, which devices must accept again"
_NO_OPENSSL = "the program openssl is missing; install it, or pass --tls-cert FILE --tls-key FILE"
_CONFIG = """\
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = zot serve
[extensions]
subjectAltName = {names}
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
"""


class Certificate(msgspec.Struct, frozen=True):
    """Two PEM files; ``fingerprint`` is the SHA-256 of the certificate, in hexadecimal digits."""

    certificate: Path
    key: Path
    fingerprint: str


class _Made(msgspec.Struct):
    """What is known of the certificate that was made; times are Unix times."""

    names: list[str] = []
    fingerprint: str = ""
    begin: float = 0.0
    end: float = 0.0


def own_certificate(home: Path, names: Sequence[str]) -> Certificate:
    """A certificate with these names and addresses, made if need be. ZotError with the fix if it cannot be made."""
    directory = home / DIRECTORY
    make_private_dir(directory)
    store, now = JsonStore(directory / "made.json", _Made, _ADVICE), time.time()
    made = store.load()
    known = _present(directory)
    is_fit = made.fingerprint == known and made.begin <= now < made.end - _LEFT_S and set(names) <= set(made.names)
    if not known or not is_fit:
        wanted = list(dict.fromkeys([*names, *made.names]))[:_NAMES_MAX]
        _make(directory, wanted)
        with store.edit() as made:
            made.names, made.fingerprint = wanted, _present(directory)
            made.begin, made.end = now, now + DAYS * _DAY_S
    return Certificate(directory / "certificate.pem", directory / "key.pem", _present(directory))


def given_certificate(certificate: Path, key: Path) -> Certificate:
    """That of the user. ConfigError if it cannot be read."""
    return Certificate(certificate, key, fingerprint_of(certificate))


def fingerprint_of(path: Path) -> str:
    """Of the first certificate in a PEM file."""
    import ssl

    try:
        text = read_whole(path).decode("ascii")
        begin = text.index("-----BEGIN CERTIFICATE-----")
        end = text.index("-----END CERTIFICATE-----", begin) + len("-----END CERTIFICATE-----")
        return sha256(ssl.PEM_cert_to_DER_cert(text[begin:end])).hexdigest()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read this certificate: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: no certificate in PEM format") from error


def server_context(certificate: Certificate) -> ssl.SSLContext:
    """ConfigError if key and certificate cannot be used together."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate.certificate, certificate.key, password=_no_password)
    except ssl.SSLError as error:
        raise ConfigError(f"cannot use {certificate.certificate} with {certificate.key}: {_why(error)}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {certificate.key}: {error.strerror or error}") from error
    return context


def _why(error: ssl.SSLError) -> str:
    words = (error.reason or "").replace("_", " ").lower()
    return words or "no key in PEM format, or it needs a password"


def _no_password() -> str:
    return ""  # else OpenSSL would ask on the terminal


def _present(directory: Path) -> str:
    """The fingerprint; empty if there is no usable certificate with its key."""
    try:
        return fingerprint_of(directory / "certificate.pem") if (directory / "key.pem").is_file() else ""
    except ConfigError:
        return ""


def _make(directory: Path, names: Sequence[str]) -> None:
    openssl = find_program("openssl")
    if openssl is None:
        raise ZotError(_NO_OPENSSL)
    key = directory / "key.pem"
    if not key.is_file():
        write_atomic(key, _run([openssl, "ecparam", "-name", "prime256v1", "-genkey", "-noout"]))
    with tempfile.NamedTemporaryFile("w", suffix=".cnf", dir=directory, encoding="ascii") as config:
        config.write(_CONFIG.format(names=", ".join(map(_alternative, names))))
        config.flush()
        request = ["req", "-new", "-x509", "-sha256", "-days", str(DAYS), "-key", str(key), "-config", config.name]
        write_atomic(directory / "certificate.pem", _run([openssl, *request]))
    sync_dir(directory)


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"


def _run(argv: Sequence[str]) -> bytes:
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_OPENSSL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ZotError(
            f"cannot make a certificate: openssl: {error}; or pass --tls-cert FILE --tls-key FILE"
        ) from error
    if done.returncode or b"-----BEGIN" not in done.stdout:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ZotError(f"cannot make a certificate: openssl: {words[-1][:200] if words else 'no certificate'}")
    return done.stdout

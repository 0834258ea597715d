"""The random values of one login. Each proves something else, so none is made from another: ``state`` that a callback
belongs to it, ``verifier`` that whoever exchanges the code began it, ``nonce`` that the id token was made for it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from secrets import token_hex, token_urlsafe

import msgspec


class Proofs(msgspec.Struct, frozen=True):
    state: str
    verifier: str
    nonce: str

    @property
    def challenge(self) -> str:
        """S256 of the verifier."""
        from hashlib import sha256

        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return "Proofs(…)"


def new_proofs() -> Proofs:
    return Proofs(state=token_hex(16), verifier=token_urlsafe(32), nonce=token_urlsafe(16))

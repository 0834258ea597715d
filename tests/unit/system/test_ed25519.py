"""Ed25519 against the vectors of RFC 8032 and an independent implementation."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from zot.system.ed25519 import is_key, verifies

# RFC 8032, section 7.1: public key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]
_L = 2**252 + 27742317777372353535851937790883648493


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_vectors_of_the_rfc(key: str, message: str, signature: str) -> None:
    """ext2-177: the vectors verify, and nothing else does."""
    parts = [bytes.fromhex(each) for each in (key, signature, message)]
    assert verifies(*parts) and is_key(parts[0])
    for place in range(3):
        for bit in (0, 7, 100, 255):
            changed = list(parts)
            if bit < 8 * len(changed[place]):
                whole = int.from_bytes(changed[place], "little") ^ (1 << bit)
                changed[place] = whole.to_bytes(len(changed[place]), "little")
                assert not verifies(*changed)
    assert not verifies(parts[0], parts[1], parts[2] + b"x")


def test_other_encodings_of_a_signature_are_refused() -> None:
    """ext2-177: a signature has one form: S below the order, canonical points, 64 bytes."""
    key, message, signature = (bytes.fromhex(each) for each in VECTORS[1])
    scalar = int.from_bytes(signature[32:], "little") + _L
    assert not verifies(key, signature[:32] + scalar.to_bytes(32, "little"), message)
    assert not verifies(key, signature[:-1], message) and not verifies(key[:-1], signature, message)
    assert not verifies(b"\xff" * 32, signature, message) and not verifies(b"", b"", b"")


def test_keys_of_small_order_are_no_keys() -> None:
    """ext2-177: with them a signature would fit every message."""
    for key in (b"\x01" + bytes(31), bytes(32), b"\xec" + b"\xff" * 30 + b"\x7f"):
        assert not is_key(key)


def test_agrees_with_another_implementation() -> None:
    """ext2-177: for random keys and messages, and for random bytes."""
    for size in range(20):
        secret = Ed25519PrivateKey.generate()
        key = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        message = os.urandom(size * 7)
        signature = secret.sign(message)
        assert verifies(key, signature, message) and not verifies(key, os.urandom(64), message)
        assert not verifies(os.urandom(32), signature, message)

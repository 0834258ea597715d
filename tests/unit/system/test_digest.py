"""Digests equal hashlib's without loading OpenSSL."""

import hashlib
import subprocess
import sys

from zot.system.digest import blake2b, sha256


def test_digests_equal_hashlib() -> None:
    data = bytes(range(256)) * 40
    assert sha256(data) == hashlib.sha256(data).hexdigest()
    assert blake2b(data, 20) == hashlib.blake2b(data, digest_size=20).hexdigest()


def test_hashlib_is_not_loaded_for_them() -> None:
    code = (
        "import sys; from zot.system.digest import *; sha256(b''); blake2b(b'', 20); print('_hashlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

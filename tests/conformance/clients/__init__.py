"""One suite, three languages: the same scenarios through each client library, against the real ``zot rpc``."""

import pytest

pytest.register_assert_rewrite("tests.conformance.clients.suite")

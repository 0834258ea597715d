"""One suite, three languages. Its assertions are rewritten like a test file's, so that failures show bytes."""

import pytest

pytest.register_assert_rewrite("tests.conformance.sdks.suite")

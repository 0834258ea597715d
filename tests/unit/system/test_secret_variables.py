"""Variables treated as secrets; the attack table has the list."""

from __future__ import annotations

import pytest

from attack.tools import HARMLESS, SECRETS
from zot.system.secret_variables import looks_like_secret, matches_any


@pytest.mark.parametrize("name", [*SECRETS, "MATRIX_ACCESS_TOKEN", "TOKEN", "PASSWORD", "SECRET_KEY", "my_db_password"])
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert looks_like_secret(name)


@pytest.mark.parametrize("name", [*HARMLESS, "PATH", "KEYBOARD", "MAX_TOKENS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "PWD"])
def test_path_count_or_word_is_not_a_secret(name: str) -> None:
    assert not looks_like_secret(name)


def test_a_list_has_names_and_patterns() -> None:
    assert matches_any("AWS_PROFILE", ["AWS_*"]) and matches_any("GH_TOKEN", ["GH_TOKEN"])
    assert not matches_any("GH_TOKENS", ["GH_TOKEN"]) and not matches_any("aws_profile", ["AWS_*"])

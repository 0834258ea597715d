"""An invalid home or working directory is a one-line error in every mode and verb."""

from __future__ import annotations

from pathlib import Path

from attack import files


def test_a_file_as_the_home_is_one_line_in_every_mode_and_verb(tmp_path: Path) -> None:
    assert files.home_is_a_file(tmp_path) == ""


def test_a_home_that_cannot_be_entered_is_one_line_in_every_verb(tmp_path: Path) -> None:
    assert files.home_of_somebody_else(tmp_path) == ""


def test_deleted_working_directory_is_one_line_in_every_verb(tmp_path: Path) -> None:
    assert files.working_directory_is_gone(tmp_path) == ""

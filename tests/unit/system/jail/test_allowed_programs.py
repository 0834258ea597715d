"""Some programs and no others: which files have to be there for them, and which are not."""

from __future__ import annotations

import os
from pathlib import Path

from zot.system.jail.system_paths import chosen_programs, interpreters, program_folders, system_without_programs


def test_only_named_programs_are_in_system_directories() -> None:
    chosen = chosen_programs(["/bin/cat"], "/nowhere")
    names = {os.path.basename(path) for path in chosen.files} | {os.path.basename(link) for link, _ in chosen.links}
    assert {"cat", "sh"} <= names and "ls" not in names and "git" not in names
    assert chosen.places == ()


def test_rest_of_system_has_no_program_directory() -> None:
    left = system_without_programs()
    assert "/usr/lib" in left and "/usr" not in left
    assert not any(folder == path or folder.startswith(f"{path}/") for folder in program_folders() for path in left)


def test_program_elsewhere_includes_installation_not_neighbours(tmp_path: Path) -> None:
    for name in ("opt/bin/tool", "opt/lib/part", "secrets/bin/tool", "secrets/key", "plain/tool", "plain/key"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("opt/bin/tool")
    programs = [str(tmp_path / name) for name in ("link", "secrets/bin/tool", "plain/tool")]
    found = {os.path.relpath(path, tmp_path) for path in chosen_programs(programs, "/nowhere").places}
    assert found == {"link", "opt/bin", "opt", "secrets/bin", "plain/tool"}


def test_shebang_names_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S node --flag\n")
    assert interpreters(str(script)) == ["/usr/bin/env", "-S", "node", "--flag"]
    script.write_text("\x7fELF")
    assert interpreters(str(script)) == []
    assert interpreters(str(tmp_path / "gone")) == []

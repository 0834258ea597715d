"""The one list of files that other programs run by themselves."""

from __future__ import annotations

import pytest

from zot.system.auto_run_files import auto_executed_part


@pytest.mark.parametrize(
    "path",
    [
        *(".claude/settings.json", ".mcp.json", ".envrc", ".bashrc", ".github/workflows/ci.yml", "opencode.json"),
        *(".helix/languages.toml", "mise.toml", "sub/.vscode/tasks.json", "a/b/.idea/x", ".config/mise/config.toml"),
        *(
            ".pre-commit-config.yaml",
            ".gitlab-ci.yml",
            ".cargo/config.toml",
            ".git/hooks/pre-commit",
            "sub/.git/config",
        ),
        *(
            ".VSCode/tasks.json",
            "lefthook.yml",
            ".npmrc",
            "x/.yarn/releases/yarn.cjs",
            "Jenkinsfile",
            ".emacs.d/init.el",
        ),
    ],
)
def test_file_is_auto_executed(path: str) -> None:
    assert auto_executed_part(path.split("/"))


@pytest.mark.parametrize(
    "path", ["src/main.py", ".github/README.md", "docs/claude.md", ".gitignore", "yarn/releases/x"]
)
def test_file_is_ordinary(path: str) -> None:
    assert not auto_executed_part(path.split("/"))

"""Files that other programs run or obey without asking: editors, shells, git, agents, version managers, CI.

One list for the jail, which keeps them from commands and tools, and for the permission modes, which ask before an edit.
It applies in every directory of a project.
"""

from __future__ import annotations

from collections.abc import Sequence

# At the top of a project the jail covers these even while they do not exist.
TOP_LEVEL = (
    *(".zot", ".claude", ".agents", ".mcp.json", ".cursor", ".codex", ".gemini"),
    *(".vscode", ".idea", ".devcontainer", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el"),
    *(".envrc", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    *(".husky", ".opencode", ".windsurf", ".zed", ".gdbinit"),
)
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj", ".githooks", ".hgrc")
_AGENTS = (
    *("opencode.json", "opencode.jsonc", "claude.json", ".claude.json", ".continue", ".aider.conf.yml", ".roo"),
    *(".kilocode", ".kiro", ".qwen", ".trae", ".amazonq", ".crush.json", "crush.json", ".goose", ".augment", ".junie"),
)
_EDITORS = (
    *(".helix", ".fleet", ".nova", ".sublime-project", ".lvimrc", ".vim", ".nvim", ".emacs", ".emacs.d", ".kakrc"),
    *(".dir-locals-2.el", ".projectile", ".neoconf.json", ".nlsp-settings", ".vs", ".theia", ".devcontainer.json"),
)
_SHELLS = (
    *(".bash_logout", ".bash_aliases", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc"),
    *(".autoenv", ".autoenv.zsh", ".env.fish", ".tmux.conf", ".screenrc", ".direnv"),
)
_TOOLS = (
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".rtx.toml", ".miserc.toml"),
    *("devbox.json", "devenv.nix", ".pnpmfile.cjs", ".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", ".bunfig.toml"),
    *(".pypirc", ".pdbrc", ".pdbrc.py", ".lldbinit", ".irbrc", ".pryrc", ".Rprofile", ".psqlrc", ".sqliterc"),
    *(".octaverc", ".ghci", ".gradle", ".mvn", ".bazelrc", ".bazeliskrc", ".bundle", "sitecustomize.py"),
    "usercustomize.py",
)
_COMMIT_HOOKS = (
    *(".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml"),
    *(".lefthook.yaml", "lefthook-local.yml", ".lefthook", ".overcommit.yml", ".huskyrc", ".simple-git-hooks.json"),
)
_CI = (
    *(".gitlab-ci.yml", ".travis.yml", ".circleci", ".buildkite", ".drone.yml", ".woodpecker", ".woodpecker.yml"),
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", "Jenkinsfile", ".cirrus.yml"),
)
_ONE = frozenset(
    name.casefold()
    for names in (TOP_LEVEL, _VERSION_CONTROL, _AGENTS, _EDITORS, _SHELLS, _TOOLS, _COMMIT_HOOKS, _CI)
    for name in names
)
_TWO = frozenset(
    {
        *((".github", "workflows"), (".github", "actions"), (".gitea", "workflows"), (".forgejo", "workflows")),
        *((".config", "mise"), (".config", "mise.toml"), (".cargo", "config"), (".cargo", "config.toml")),
        *((".yarn", "releases"), (".yarn", "plugins")),
    }
)
# Installed packages bring such files by the thousand, and no editor is opened there.
PACKAGES = frozenset({"node_modules", "site-packages", "vendor", ".venv", "venv", ".tox", ".nox", "target", ".cache"})


def auto_executed_part(parts: Sequence[str]) -> str:
    """The first part of a relative path that is such a file or directory, with its parents; empty if there is none."""
    before = ""
    for place, part in enumerate(parts):
        name = part.casefold()
        if name in _ONE or (before, name) in _TWO:
            return "/".join(parts[: place + 1])
        before = name
    return ""


def is_auto_executed(directory: str, name: str) -> bool:
    """The same for one name in a directory with this name."""
    folded = name.casefold()
    return folded in _ONE or (directory.casefold(), folded) in _TWO

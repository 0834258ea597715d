"""What to put into an editor's configuration, so that it starts ``zot acp``."""

from __future__ import annotations

import json
from typing import Any

from zot.errors import NotThere, closest_match

_SERVER: Any = {"command": "zot", "args": ["acp"]}
_ZED: Any = {"agent_servers": {"zot": {"type": "custom", **_SERVER, "env": {}}}}
_JETBRAINS = {"agent_servers": {"zot": _SERVER}}
_VSCODE = {"acp.agents": {"zot": _SERVER}}

_NEOVIM = """require("codecompanion").setup({
  adapters = {
    acp = {
      zot = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "zot", formatted_name = "zot",
          commands = { default = { "zot", "acp" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "zot" } },
})"""
_EMACS = """(use-package agent-shell
  :config
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'zot :buffer-name "zot" :mode-line-name "zot"
                :shell-prompt "zot> " :shell-prompt-regexp "zot> "
                :client-maker (lambda (buffer)
                                (agent-shell--make-acp-client
                                 :command "zot" :command-params '("acp") :context-buffer buffer)))))"""

_EDITORS: dict[str, tuple[str, str]] = {
    "zed": ("settings.json of Zed (`zed: open settings`)", json.dumps(_ZED, indent=2)),
    "jetbrains": ("~/.jetbrains/acp.json", json.dumps(_JETBRAINS, indent=2)),
    "neovim": ("init.lua, with the plugin codecompanion.nvim", _NEOVIM),
    "emacs": ("init.el, with the package agent-shell", _EMACS),
    "vscode": (
        "settings.json of VS Code, with the extension ACP Client (formulahendry.acp-client)",
        json.dumps(_VSCODE, indent=2),
    ),
}
EDITORS = tuple(_EDITORS)


def snippet(editor: str) -> str:
    """The text, with the place it belongs to. NotThere for an unknown editor."""
    if editor.lower() not in _EDITORS:
        close = closest_match(editor.lower(), EDITORS)
        hint = f"did you mean {close}?" if close else f"known: {', '.join(EDITORS)}"
        raise NotThere(f"--setup {editor}: no such editor; {hint} Any editor works that starts `zot acp`")
    place, text = _EDITORS[editor.lower()]
    return f"Put this into {place}:\n\n{text}"

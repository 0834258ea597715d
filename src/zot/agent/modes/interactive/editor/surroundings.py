"""What the editor needs from around it. Alone, it has none of it and still edits; ``in_app.py`` is the real thing."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.agent.modes.interactive.editor.history import History
    from zot.agent.modes.interactive.editor.slash_popup import SlashCommand


class Surroundings:
    """``changed`` asks for a redraw, ``error`` shows a line, ``spawn`` runs what waits."""

    @property
    def vi_mode(self) -> bool:
        return False

    @property
    def cwd(self) -> Path:
        return Path.cwd()

    def commands(self) -> Sequence[SlashCommand]:
        """Those the popup lists, in its order."""
        return ()

    def history(self) -> History:
        """Asked for once, when it is first needed."""
        from zot.agent.modes.interactive.editor.history import History

        return History()

    def environment(self) -> dict[str, str]:
        """For programs started on the user's behalf."""
        return {}

    def changed(self) -> None: ...

    def error(self, text: str) -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        work.close()
        return None

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        """Let a program have the terminal until it ends; its exit code. OSError when it cannot be started."""
        raise OSError("there is no terminal")

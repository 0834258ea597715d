"""Those who wait for the agent: who asks before a tool runs, who helps when a turn fails, who asks about trust.

``ready`` is called once, when the agent is built. What the command line said about key and address holds for the
provider it was said of, and only until another one is chosen in its place.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zot.agent.modes.interactive import news
from zot.agent.modes.interactive.commands.command import agent_of

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.modes.interactive.dialogs.confirm import Confirmations
    from zot.agent.resolve import Query
    from zot.core.agent import Outcome


class Attendants:
    """``launched_with`` is the provider the run began with; ``unasked``: a command came from an extension."""

    confirmations: Confirmations

    def __init__(self, app: App) -> None:
        self._app = app
        self.launched_with = ""
        self.unasked = False
        self.arrived = asyncio.Event()

    def ready(self) -> None:
        """The agent is there."""
        # Loaded here, after the first frame and the first keys.
        from zot.agent.modes.interactive.dialogs.confirm import Confirmations

        app, runtime = self._app, agent_of(self._app)
        self.launched_with = runtime.resolved.provider.id
        self.confirmations = Confirmations(app)
        if (gate := self.confirmations.gate) is not None:
            gate.confirmer = self.confirmations
        app.turns.on_failure = self._failed
        self.arrived.set()
        app.spawn(self._greet())

    def slot(self, key: str) -> bool:
        """ctrl+1 to ctrl+9 switch to the model in that slot, never during a turn; whether the key is a filled slot."""
        digit = key.removeprefix("ctrl+")
        if self._app.runtime is None or digit == key or digit not in "123456789":
            return False
        model = self._app.runtime.settings.values.quick_model_shortcuts.get(digit, "")
        if model and not self._app.turns.busy:
            self._app.run_command(f"/model {model}")
        return bool(model)

    async def _greet(self) -> None:
        """The questions a run may begin with, one after the other."""
        app, runtime = self._app, agent_of(self._app)
        if await self.ask_about_trust():
            from zot.agent.modes.interactive.commands.reload_ext import reload

            await reload(app)
        if app.flags.resume and not app.flags.session and not app.flags.continue_:
            app.run_command("/sessions")
        elif runtime.resolved.missing:
            await self._first_launch()
        else:
            await news.tell(app)

    # --- key and address of the command line

    def query(self, provider: str, model: str) -> Query:
        """A model, with what the command line said about its provider."""
        from zot.agent.model_switch import query_for
        from zot.agent.resolve import Query

        if provider == self.launched_with:
            return query_for(self._app.flags, provider, model)
        return Query(provider=provider, model=model)

    def launch_flags(self) -> str:
        """Those in force, by name."""
        flags = self._app.flags
        given = (("--api-key", flags.api_key), ("--base-url", flags.base_url))
        return " and ".join(name for name, value in given if value)

    def forget_launch_flags(self) -> None:
        self._app.flags.api_key = self._app.flags.base_url = ""

    # --- trust

    async def ask_about_trust(self) -> bool:
        """One question for all extensions of the project that nobody decided about; whether something may run now."""
        runtime = agent_of(self._app)
        host, flags = runtime.extensions, self._app.flags
        if host is None or flags.no_ext or flags.trust_project:
            return False
        from zot.agent.extensions.loading.trust import undecided
        from zot.agent.modes.interactive.dialogs.trust import EDITING, TRUST, TrustDialog

        found = undecided(self._app.cwd, host.trust)
        answer = await self._app.dialogs.ask(TrustDialog(found)) if found else None
        for extension in found:
            if answer == TRUST:
                host.trust.trust(extension.directory)
            elif answer == EDITING:
                host.trust.while_editing(extension.directory)
        return answer in (TRUST, EDITING)

    # --- no credential

    async def _first_launch(self) -> None:
        from zot.agent.modes.interactive.commands.model import use_model
        from zot.agent.modes.interactive.dialogs.first_launch import LATER, LOGIN, FirstLaunch
        from zot.provider.discovery import find_local_servers

        app, runtime = self._app, agent_of(self._app)
        providers = runtime.catalog.providers().values()
        chosen = await app.dialogs.ask(FirstLaunch(await find_local_servers(runtime.pool, providers=providers)))
        if chosen == LOGIN:
            app.run_command("/login")
        elif chosen not in (None, LATER):
            provider, _, model = chosen.partition("\n")
            await use_model(app, provider, model)

    # --- a turn that failed

    def _failed(self, outcome: Outcome) -> None:
        self._app.spawn(self._rescue(outcome))

    async def _rescue(self, outcome: Outcome) -> None:
        """Another model may have more luck with the same prompt, which is in the transcript and is not said twice."""
        from zot.provider.failures import rescue_category

        error = outcome.error
        if error is None or rescue_category(error) in ("", "too_large"):
            return
        from zot.agent.modes.interactive.dialogs.model_picker import usable_models
        from zot.agent.modes.interactive.dialogs.rescue import AGAIN, RescuePicker

        app, runtime = self._app, agent_of(self._app)
        await app.turns.over()
        dropped = self.launch_flags()
        picker = RescuePicker(runtime.agent.model, _reason(error), usable_models(runtime), dropped=dropped)
        chosen = await app.dialogs.ask(picker)
        if chosen is None:
            app.turns.give_failed_back()
        elif chosen == AGAIN:
            app.turns.proceed()
        else:
            await self._go_on_with(*chosen.split("\n", 1))

    async def _go_on_with(self, provider: str, model: str) -> None:
        from zot.agent.modes.interactive.commands.model import use_model

        app = self._app
        dropped = self.launch_flags()
        self.forget_launch_flags()
        await use_model(app, provider, model)
        if dropped:
            app.transcript.remark(f"going on with {provider}/{model}, without {dropped}")
        app.turns.proceed()


def _reason(error: Exception) -> str:
    """The category, and what the provider said about it."""
    from zot.agent.modes.interactive.screen.failure_text import in_words
    from zot.provider.failures import rescue_reason

    label, colon, _ = rescue_reason(error).partition(": ")
    said = in_words(str(error))
    whole = said == str(error)
    return rescue_reason(error) if whole else f"{label}{colon}{said}"

"""What the command line said about key and address: it holds for the provider the run began with, and only until
another one is chosen in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.resolve import Query

if TYPE_CHECKING:
    from zot.agent.cli.flags import Flags


class LaunchFlags:
    """``provider`` is the one the run began with."""

    def __init__(self, flags: Flags, provider: str) -> None:
        self.provider = provider
        self._script, self._insecure = flags.script, flags.insecure
        self._api_key, self.base_url = flags.api_key, flags.base_url

    def query(self, provider: str, model: str) -> Query:
        """A model, with what the command line said about its provider."""
        if provider != self.provider:
            return Query(provider=provider, model=model)
        return Query(
            provider=provider,
            model=model,
            api_key=self._api_key,
            base_url=self.base_url,
            insecure=self._insecure,
            script=self._script,
        )

    @property
    def in_force(self) -> str:
        """Their names; empty when there are none."""
        given = (("--api-key", self._api_key), ("--base-url", self.base_url))
        return " and ".join(name for name, value in given if value)

    def forget(self) -> None:
        self._api_key = self.base_url = ""

    def forget_key(self, provider: str) -> None:
        """A key was just typed for this provider, and is meant instead; the address stays."""
        if provider == self.provider:
            self._api_key = ""

"""The key and address a run was started with: they hold for the provider the run began with, and only until
another one is chosen in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.resolve import Query

if TYPE_CHECKING:
    from zot.agent.config import RunConfig


class Launch:
    """``provider`` is the one the run began with."""

    def __init__(self, config: RunConfig, provider: str) -> None:
        self.provider = provider
        self._script, self._insecure = config.script, config.insecure
        self._api_key, self.base_url = config.api_key, config.base_url

    def query(self, provider: str, model: str) -> Query:
        """A model, with what was said about its provider at the start."""
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
        """The flags that still hold, by name; empty when there are none."""
        given = (("--api-key", self._api_key), ("--base-url", self.base_url))
        return " and ".join(name for name, value in given if value)

    def forget(self) -> None:
        self._api_key = self.base_url = ""

    def forget_key(self, provider: str) -> None:
        """A key was just typed for this provider, and is meant instead; the address stays."""
        if provider == self.provider:
            self._api_key = ""

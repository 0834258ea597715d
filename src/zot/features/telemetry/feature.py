"""Telemetry of a conversation: off unless a standard variable or the setting ``telemetry`` names an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.feature import Feature
from zot.errors import UsageError
from zot.features.telemetry.config import TelemetryConfig, TraceContext, read_config
from zot.features.telemetry.exporter import Exporter
from zot.features.telemetry.frame_verdicts import FrameVerdicts
from zot.features.telemetry.reader import KINDS, TOOL_KINDS, SpanReader
from zot.provider.http.route import parse_url

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation


Parent = Callable[[], TraceContext | None]


class TelemetryFeature(Feature):
    name = "telemetry"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._exporter: Exporter | None = None
        self._reader: SpanReader | None = None
        self.config = TelemetryConfig()

    def join(self) -> None:
        given = self.services.config.telemetry
        try:
            self.config = (
                msgspec.json.decode(given, type=TelemetryConfig)
                if given
                else read_config(self.services.environ, self.services.settings.values.telemetry)
            )
        except (UsageError, msgspec.MsgspecError) as error:
            self.notify(f"telemetry is off: {error}")
            return
        parent = self.config.parent
        if parent is not None and not parent.sampled:  # the caller decided against this trace
            return
        self._exporter = Exporter(self.config, self.services.pool, self.notify)
        self._reader = self._create_reader(self.conversation, lambda: parent, "zot")

    def _create_reader(self, conversation: Conversation, parent: Parent, agent: str) -> SpanReader:
        assert self._exporter is not None
        hide = None
        if self.config.content:
            from zot.features.export.redaction import redaction  # its rules are large

            hide = redaction(conversation.home, str(conversation.workspace.cwd))
        reader = SpanReader(self._exporter, _Facts(conversation), parent, agent, hide, self._hand_on)
        conversation.subscribe(reader.observe, *KINDS)
        conversation.subscribe(reader.observe_tools, *TOOL_KINDS)
        return reader

    def _hand_on(self, context: TraceContext | None) -> None:
        """Commands, hooks, extensions and MCP servers that start now hang under this span."""
        added = self.conversation.workspace.added
        if context is None:
            added.pop("TRACEPARENT", None)
        else:
            added["TRACEPARENT"] = context.header

    async def start(self) -> None:
        if self._exporter is None or self._reader is None:
            return
        self._exporter.start()
        from zot.features.lookup import extension_host  # after the extensions have joined

        if (host := extension_host(self.conversation)) is not None:
            host.traces.append(FrameVerdicts(self._reader.verdict))

    def for_child(self, child: Conversation) -> Feature | None:
        if self._reader is None:
            return None
        context, agent = self._reader.delegate()
        feature = TelemetryFeature(child)
        feature.config, feature._exporter = self.config, self._exporter
        feature._reader = feature._create_reader(child, lambda: context, agent)
        return feature

    def for_worker(self, config: RunConfig) -> RunConfig:
        """Workers send to the same place, and hang under the span that started them."""
        if self._reader is None:
            return config
        given = msgspec.structs.replace(self.config, parent=self._reader.current)
        return msgspec.structs.replace(config, telemetry=msgspec.json.encode(given).decode())

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        import os

        from zot.agent.settings import Settings

        settings = Settings(home).values.telemetry
        if settings.is_on(os.environ):
            try:
                config = read_config(os.environ, settings)
            except UsageError as error:
                yield "telemetry", f"off: {error}"
                return
            content = "with content" if config.content else "without content"
            yield "telemetry", f"sent to {config.traces or config.metrics}, {content}"

    async def before_close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._exporter is not None and not self.conversation.is_child:
            await self._exporter.aclose()


class _Facts:
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def provider(self) -> str:
        return self._conversation.agent.model.provider

    @property
    def model(self) -> str:
        return self._conversation.agent.model.id

    @property
    def conversation_id(self) -> str:
        return self._conversation.agent.session_id

    @property
    def server(self) -> tuple[str, int]:
        endpoint = self._conversation.resolved.endpoint
        if endpoint is None:
            return "", 0
        url = parse_url(endpoint.base_url)
        return url.host, url.port

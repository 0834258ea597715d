"""Whether a session could start: for ``authenticate``, which some editors always call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zot.agent.config import RunConfig


def has_credential(config: RunConfig) -> bool:
    """Whether a model can be used with what is configured now."""
    from zot.agent.build import create_services
    from zot.agent.config import FrontEnd
    from zot.agent.model_resolver import ModelQuery
    from zot.errors import ZotError

    services = create_services(config, FrontEnd(may_log_in=True))
    named: dict[str, Any] = {
        "provider": config.provider,
        "model": config.model,
        "base_url": config.base_url,
        "script": config.script,
    }
    try:
        resolved = services.resolve(ModelQuery(**named, api_key=config.api_key))
    except ZotError:
        return False
    return not resolved.missing

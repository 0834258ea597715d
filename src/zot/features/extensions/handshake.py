"""What ``hello_ack`` has for an extension of the second edition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost


def second_edition_ack(
    host: ExtensionHost, child: ExtensionChild, ack: extension_frames.HelloAck
) -> extension_frames.HelloAck:
    granted = host.granted(child)
    child.granted = frozenset(granted)
    return msgspec.structs.replace(
        ack,
        edition=2,
        features=extension_frames.FEATURES,
        granted=granted,
        mode=host.mode,
        ui=msgspec.to_builtins(host.surface.ui_info()),
        session=_session(host, child),
        flags=host.flags(child) or None,
        settings=host.setting_values(child) or None,
        limits={
            "line": limits.MAX_LINE,
            "open_requests": limits.OPEN_REQUESTS,
            "progress_hz": round(1 / limits.PROGRESS_INTERVAL),
            "delta_ms": round(limits.DELTA_INTERVAL * 1000),
        },
        state=host.saved_states.take(child),
    )


def _session(host: ExtensionHost, child: ExtensionChild) -> dict[str, Any] | None:
    """None if the run keeps no session."""
    conversation = host.conversation
    if conversation is None or conversation.session is None:
        return None
    session = conversation.session
    named = {"name": session.meta.title} if session.meta.title else {}
    reason = host.start_reason(child)
    return {"id": session.id, **named, "reason": reason, "entries": len(conversation.messages)}

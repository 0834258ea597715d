"""Short helpers that build conversations for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from zot.core.session.session import Session
from zot.core.session.store import SessionStore
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock, user_message

TIME = "2026-01-02T03:04:05.000Z"


def user(text: str) -> Message:
    return user_message(text)


def assistant(text: str, *calls: ToolCallBlock) -> Message:
    return Message("assistant", (TextBlock(text), *calls), TIME)


def call(id: str, name: str = "read", arguments: str = '{"path":"a"}') -> ToolCallBlock:
    return ToolCallBlock(id, name, arguments)


def results(*ids: str, text: str = "done") -> Message:
    return Message("tool", tuple(ToolResultBlock(id, (TextBlock(text),)) for id in ids), TIME)


def say(session: Session, *messages: Message) -> None:
    for message in messages:
        session.appended(message)


def saved(store: SessionStore, *messages: Message, title: str = "") -> Path:
    """A closed session with these messages."""
    session = store.create("anthropic", "opus")
    say(session, *messages)
    if title:
        session.rename(title)
    session.close()
    return session.path


def reopened(store: SessionStore, path: Path) -> Session:
    """The session as it loads, already closed again."""
    session = store.open(path)
    session.close()
    return session


def texts(session: Session) -> list[str]:
    return [message.text() for message in session.messages]


def rows(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]

"""Headers of GitHub Copilot's chat endpoint: who started a request. zot sends no other program's identity."""

from __future__ import annotations

from zot.provider.messages import ImageBlock, Message, ToolResultBlock
from zot.provider.model_call import Request


def request_headers(request: Request) -> list[tuple[str, str]]:
    last = request.messages[-1] if request.messages else None
    headers = [
        ("openai-intent", "conversation-edits"),
        ("x-initiator", "user" if last is None or last.role == "user" else "agent"),
    ]
    has_images = any(_has_image(message) for message in request.messages)
    return [*headers, ("copilot-vision-request", "true")] if has_images else headers


def _has_image(message: Message) -> bool:
    return any(
        isinstance(block, ImageBlock)
        or (isinstance(block, ToolResultBlock) and any(isinstance(part, ImageBlock) for part in block.content))
        for block in message.content
    )

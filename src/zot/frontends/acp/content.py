"""Content blocks of the protocol: a client's prompt as text and images, and zot's messages as blocks."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from zot.features.file_blocks import file_block
from zot.frontends.json_rpc import INVALID_PARAMS, RpcError, as_object
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock, TextBlock

Json = dict[str, Any]


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def to_blocks(content: Iterable[Any]) -> list[Json]:
    blocks: list[Json] = []
    for block in content:
        if isinstance(block, TextBlock) and block.text:
            blocks.append(text_block(block.text))
        elif isinstance(block, ImageBlock):
            blocks.append({"type": "image", "mimeType": block.mime_type, "data": b64encode(block.data).decode()})
    return blocks


def read_prompt(blocks: object) -> tuple[str, tuple[ImageBlock, ...]]:
    """Text and images; RpcError names a block that cannot be used. Embedded files follow the text."""
    if not isinstance(blocks, list):
        raise RpcError(INVALID_PARAMS, "prompt: expected a list of content blocks")
    texts: list[str] = []
    files: list[str] = []
    images: list[ImageBlock] = []
    for number, block in enumerate(cast("list[Any]", blocks)):
        given = as_object(block)
        match given.get("type"):
            case "text":
                texts.append(str(given.get("text", "")))
            case "image":
                images.append(_image(given.get("data"), f"prompt[{number}]"))
            case "resource_link":
                texts.append(f" {_mention(given)} ")
            case "resource":
                _embed(given.get("resource"), texts, files, images, f"prompt[{number}]")
            case other:
                raise RpcError(
                    INVALID_PARAMS, f"prompt[{number}]: content of type {str(other)[:40]!r} is not supported"
                )
    return "\n\n".join(["".join(texts), *files]).strip("\n"), tuple(images)


def _mention(link: Json) -> str:
    """``@path`` for a file, so that the agent can read it; the address of anything else."""
    uri = str(link.get("uri", ""))
    path = path_of(uri)
    return f"@{path}" if path and " " not in path else f'@"{path}"' if path else uri or str(link.get("name", ""))


def path_of(uri: str) -> str:
    """The path of a ``file://`` address, else empty."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else ""


def _embed(resource: object, texts: list[str], files: list[str], images: list[ImageBlock], where: str) -> None:
    given = as_object(resource)
    uri = str(given.get("uri", ""))
    name = path_of(uri) or uri
    if isinstance(text := given.get("text"), str):
        texts.append(f" {name} ")
        files.append(file_block(name, text))
    elif isinstance(given.get("blob"), str):
        images.append(_image(given["blob"], where))
    else:
        raise RpcError(INVALID_PARAMS, f"{where}: resource without text or blob")


def _image(data: object, where: str) -> ImageBlock:
    try:
        raw = b64decode(data, validate=True) if isinstance(data, str) else b""
    except (Base64Error, ValueError):
        raw = b""
    mime_type = sniff(raw)
    if not mime_type:
        raise RpcError(INVALID_PARAMS, f"{where}: no PNG, JPEG, GIF or WebP image in base64")
    return ImageBlock(mime_type, raw)

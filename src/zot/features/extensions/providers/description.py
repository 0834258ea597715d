"""The value of a ``provider`` contribution: what an extension says about a model provider, checked."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
from typing import Annotated, Any

import msgspec

from zot.features.extensions.loader.manifest import PROVIDER_ID
from zot.features.extensions.requests import RequestError
from zot.provider.dialects import DIALECTS
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.providers import RESERVED_IDS, is_loopback, is_url

_MOST_MODELS = 1000
_NOT_OFFERED = ("bedrock", "grammar")  # dialects that need credentials or weights of zot's own

_Count = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]
_Price = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
_Text = Annotated[str, msgspec.Meta(max_length=200)]


class CostFields(msgspec.Struct, frozen=True):
    """USD per million tokens."""

    input: _Price = 0.0
    output: _Price = 0.0
    cache_read: _Price = 0.0
    cache_write: _Price = 0.0


class ModelFields(msgspec.Struct, frozen=True):
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    name: _Text = ""
    context_window: _Count = 0
    max_output: _Count = 0
    images: bool = False
    reasoning: tuple[str, ...] = ()
    cost: CostFields | None = None


class KeyFields(msgspec.Struct, frozen=True):
    """Where the credential comes from: a secret setting of the extension, or a login with it."""

    setting: str = ""
    login: bool = False


class Description(msgspec.Struct, frozen=True):
    title: _Text = ""
    api: str = ""
    base_url: str = ""
    headers: dict[str, str] = {}
    key: KeyFields = KeyFields()
    stream: bool = False
    models: tuple[ModelFields, ...] = ()
    refresh: bool = False
    replace: bool = False

    def __repr__(self) -> str:
        """Omits the headers, which may contain secrets."""
        return f"Description({self.title!r}, {self.base_url!r})"


def read_description(name: str, value: dict[str, Any]) -> Description:
    """RequestError names the first wrong key."""
    if name in RESERVED_IDS or not PROVIDER_ID.fullmatch(name):
        raise RequestError("bad_params", f"name: {name[:60]!r} cannot be the id of a provider")
    known = convert(value, Description, "value")
    if not known.stream:
        _check_address(known)
    for header, content in known.headers.items():
        if not header.isascii() or not content.isprintable() or not header.replace("-", "").replace("_", "").isalnum():
            raise RequestError("bad_params", f"value.headers: invalid header {header[:60]!r}")
    check_models(known.models)
    return known


def convert(value: Any, kind: type[Any], place: str) -> Any:
    """RequestError with the path of what is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        at = place + path.rstrip("`")
        raise RequestError("bad_params", f"{at}: {text[:1].lower()}{text[1:]}".replace("`", "")) from None


def read_models(value: Any) -> tuple[ModelFields, ...]:
    """``models`` of an answer to ``provider.models``; RequestError names the first wrong key."""
    models = convert(value, tuple[ModelFields, ...], "models")
    check_models(models)
    return models


def check_models(models: tuple[ModelFields, ...]) -> None:
    if len(models) > _MOST_MODELS:
        raise RequestError("too_large", f"value.models: at most {_MOST_MODELS}")
    seen: set[str] = set()
    for model in models:
        if model.id in seen:
            raise RequestError("bad_params", f"value.models: {model.id[:60]!r} is there twice")
        seen.add(model.id)
        if unknown := [level for level in model.reasoning if level not in REASONING_LEVELS]:
            levels = ", ".join(REASONING_LEVELS)
            raise RequestError("bad_params", f"value.models: unknown reasoning level {unknown[0][:40]!r}; {levels}")


def _check_address(known: Description) -> None:
    offered = [api for api in DIALECTS if api not in _NOT_OFFERED]
    if known.api not in offered:
        raise RequestError("bad_params", f"value.api: expected one of {', '.join(offered)}, or stream: true")
    if not is_url(known.base_url):
        raise RequestError("bad_params", "value.base_url: expected https://…")
    if not known.base_url.lower().startswith("https://") and not is_loopback(known.base_url):
        raise RequestError("bad_params", "value.base_url: expected https://, or http:// to this machine")


def model_row(provider: str, fields: ModelFields) -> Model:
    cost = fields.cost
    levels = {level: level for level in fields.reasoning}
    return Model(
        id=fields.id,
        provider=provider,
        name=fields.name or fields.id,
        context_window=fields.context_window,
        max_output=fields.max_output,
        input=("text", "image") if fields.images else ("text",),
        reasoning=bool(levels),
        reasoning_levels=levels,
        reasoning_style="effort" if levels else "none",
        price_input=cost.input if cost else 0.0,
        price_output=cost.output if cost else 0.0,
        price_cache_read=cost.cache_read if cost else 0.0,
        price_cache_write=cost.cache_write if cost else 0.0,
        free=cost is not None and not (cost.input or cost.output),
        source="extension",
    )

"""Catalog of models and providers: built-in rows, ``catalog.json``, discovered models, then ``models.json``.
Read on first use; one model is found without reading the rows of others. A model without numbers gets those of its
family or kind of provider."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.provider.model import Model, Source
from zot.provider.providers import Provider, builtin_providers
from zot.system.files import cache_home
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.provider.models_file import ModelsFile
    from zot.provider.provider_source import ProviderSource

CACHE_FILE = "models-cache.json"
MODELS_FILE = "models.json"
CATALOG_FILE = "catalog.json"
EXTENSION_MODELS = "extension-models.json"  # of providers of extensions, from the last run
BUILTIN_ROWS = Path(__file__).with_name("models")  # one file per provider, one row per line; from ``make models``

# The reference writes Go's field names into its cache.
_FIELDS = {
    "Provider": "provider",
    "ID": "id",
    "DisplayName": "display_name",
    "ContextWindow": "context_window",
    "MaxOutput": "max_output",
}


class CachedModel(msgspec.Struct, frozen=True, kw_only=True):
    """One discovered model in ``models-cache.json``."""

    provider: str = ""
    id: str = ""
    display_name: str = ""
    context_window: int = 0
    max_output: int = 0
    tools: bool | None = None


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """``models-cache.json``. ``providers`` has the time of each provider's last query."""

    fetched_at: str = ""
    providers: dict[str, str] = {}
    models: list[CachedModel] = []


class Catalog:
    """The active models. ``problems`` are one-line diagnostics about ``models.json`` and ``catalog.json``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._live: list[CachedModel] | None = None  # discovered by this process; None: use the cache file
        self._file: ModelsFile | None = None
        self._looked = False
        self._rows: list[Model] | None = None
        self._added: tuple[list[Model], list[str]] | None = None
        self._cached: list[CachedModel] | None = None
        self.source: ProviderSource | None = None  # providers of extensions, if there are any

    @property
    def problems(self) -> list[str]:
        user = self._user()
        return [*self._catalog_file()[1], *(user.problems if user else [])]

    def providers(self) -> dict[str, Provider]:
        """All providers by id: the table, changed and extended by ``models.json``, and those of extensions."""
        known = self.own_providers()
        return known if self.source is None else {**known, **self.source.providers()}

    def own_providers(self) -> dict[str, Provider]:
        """Without those of extensions."""
        user = self._user()
        return builtin_providers() | user.providers if user else builtin_providers()

    def rows(self) -> list[Model]:
        if self._rows is None:
            self._rows = self._merged(builtin_rows())
        return list(self._rows)

    def find(self, model_id: str, provider: str = "") -> Model | None:
        """The row with that id; without a provider the first one in catalog order."""
        table = self.providers().get(provider)
        owner = table.rows_of if table is not None and table.rows_of else provider
        for row in self.named(model_id, owner):
            if owner in ("", row.provider):
                return row if owner == provider else msgspec.structs.replace(row, provider=provider)
        return None

    def named(self, model_id: str, owner: str = "") -> list[Model]:
        """The rows with that id, of one provider or all, in catalog order; reads only these."""
        if self._rows is not None:
            return [row for row in self._rows if row.id == model_id]
        return [row for row in self._merged(builtin_named(model_id, owner), model_id) if row.id == model_id]

    def _merged(self, rows: list[Model], only: str = "") -> list[Model]:
        """The rows with those of the other sources; ``only`` leaves out other ids."""
        more = [row for row in self._catalog_file()[0] if only in ("", row.id)]
        if more:  # rows of the same model in place, others at the end
            rows = list({(row.provider, row.id): row for row in (*rows, *more)}.values())
        live, source = self._discovered()
        rows = merge_live(rows, [row for row in live if only in ("", row.id)], source)
        if os.path.isdir(weights := cache_home() / "models"):
            from zot.provider.installed_models import installed_models  # rarely present

            rows += installed_models(weights)
        providers = self.providers()
        if self.source is not None:
            joined = self.source.providers()
            rows = [row for row in rows if row.provider not in joined]
            rows += [row for row in self.source.models() if only in ("", row.id)]
        if user := self._user():
            from zot.provider.models_file import apply_user_models

            rows = apply_user_models(rows, [pair for pair in user.models if only in ("", pair[1].id)])
        return [with_limits(row, providers.get(row.provider)) for row in rows if row.provider in providers]

    def _catalog_file(self) -> tuple[list[Model], list[str]]:
        """Rows and problems of ``catalog.json``, which is rarely present."""
        if self._added is None:
            self._added = [], []
            if (path := self._home / CATALOG_FILE).exists():
                from zot.provider.catalog_file import read_catalog_file

                self._added = read_catalog_file(path)
        return self._added

    def _discovered(self) -> tuple[list[CachedModel], Source]:
        if self._live is not None:
            return self._live, "live"
        if self._cached is None:
            self._cached = read_cache(self._home).models
        return self._cached, "cache"

    def learn(self, found: list[CachedModel]) -> None:
        """Add the result of a refresh (rows of all providers); user rows override it."""
        self._live = found
        self._rows = None

    def join(self, source: ProviderSource) -> None:
        """Add the providers and models of a source, also when they changed."""
        self.source, self._rows = source, None

    def reload(self) -> None:
        self._file = self._rows = self._added = self._cached = None
        self._looked = False

    def _user(self) -> ModelsFile | None:
        """Load ``models.json``; most users have none, and then its module is not imported."""
        if not self._looked and (self._home / MODELS_FILE).exists():
            from zot.provider.models_file import read_models_file

            self._file = read_models_file(self._home / MODELS_FILE)
        self._looked = True
        return self._file


def builtin_rows(provider: str = "") -> list[Model]:
    """The rows of one provider, or of all."""
    return [row for name in _owners(provider) if (data := _lines(name)) for row in _ROWS.decode(data)]


def builtin_named(model_id: str, provider: str = "") -> list[Model]:
    """The rows with that id, of one provider or all; decodes no other row."""
    start = b'\n{"id":' + msgspec.json.encode(model_id) + b","
    found: list[Model] = []
    for name in _owners(provider):
        data = _lines(name)
        if (at := data.find(start)) >= 0:
            found.append(_ROW.decode(data[at + 1 : data.index(b"\n", at + 1)].removesuffix(b",")))
    return found


def _owners(provider: str) -> list[str]:
    """The provider, or all; a gateway comes after the vendors whose models it has."""
    return [provider] if provider else sorted(builtin_providers(), key=lambda name: name in _GATEWAYS)


_GATEWAYS = ("openrouter",)


@functools.cache
def _lines(provider: str) -> bytes:
    """A provider's file; empty without one."""
    if provider not in builtin_providers():  # a name of the user's is not part of a path
        return b""
    try:
        return (BUILTIN_ROWS / f"{provider}.json").read_bytes()
    except FileNotFoundError:
        return b""


_ROWS = msgspec.json.Decoder(list[Model])
_ROW = msgspec.json.Decoder(Model)


def merge_live(rows: list[Model], found: list[CachedModel], source: Source) -> list[Model]:
    """A known model keeps its numbers, gets the live name and is no longer speculative; new ones are appended."""
    result = list(rows)
    at = {(row.provider, row.id): index for index, row in enumerate(result)}
    for live in found:
        if not live.id or not live.provider:
            continue
        index = at.get((live.provider, live.id))
        if index is not None:
            name = live.display_name or result[index].name
            known = msgspec.structs.replace(result[index], name=name, source=source, speculative=False)
            result[index] = known if live.tools is None else msgspec.structs.replace(known, tools=live.tools)
            continue
        at[live.provider, live.id] = len(result)
        result.append(
            Model(
                id=live.id,
                provider=live.provider,
                name=live.display_name or live.id,
                context_window=max(0, live.context_window),
                max_output=max(0, live.max_output),
                tools=live.tools,
                source=source,
            )
        )
    return result


def read_cache(home: Path) -> Cache:
    """The discovery cache of any age; a missing or corrupt one is empty."""
    try:
        data = read_whole(home / CACHE_FILE)
    except OSError:
        return Cache()
    try:
        raw = msgspec.json.decode(data, type=dict[str, Any])
        entries: list[dict[str, Any]] = raw.get("models") or []
        models = [{_FIELDS.get(key, key): value for key, value in entry.items()} for entry in entries]
        return msgspec.convert({**raw, "models": models}, Cache)
    except (msgspec.MsgspecError, AttributeError, TypeError, UnicodeError, RecursionError):
        return Cache()


# Models older than the oldest row of their family, and open weights on local servers:
# prefix, context window, output limit, reasoning; the first match applies.
_OLD: tuple[tuple[str, int, int, bool], ...] = (
    ("claude-3-7", 200_000, 64_000, True),
    ("claude-3-5", 200_000, 8_192, False),
    ("claude-3", 200_000, 4_096, False),
    ("gpt-3.5", 16_385, 4_096, False),
    ("gpt-oss", 131_072, 32_768, True),
    ("gemini-1", 1_048_576, 8_192, False),
    ("gemini-2.0", 1_048_576, 8_192, False),
)


def with_limits(model: Model, provider: Provider | None, *, own_server: bool = False) -> Model:
    """The same row with unknown facts filled in: of its family, else usual for its kind of provider. A server at an
    address of the user's (``own_server``) may run a family's model with other options, so only limits are taken."""
    own_server = own_server or (provider is not None and provider.user_endpoint)
    if model.context_window > 0 and model.max_output > 0:
        return model
    if (old := _old(model.id)) is not None:
        return _filled(model, *old)
    if provider is None or not (provider.local or provider.discover):
        from zot.provider.families import has_open_weights, relative_of, with_family_facts  # unknown models only

        relative = relative_of(model.id, builtin_rows)
        if relative is not None and not (own_server and has_open_weights(relative)):
            return with_family_facts(model, relative, provider, limits_only=own_server)
    return _filled(model, *_by_kind(provider), model.reasoning)


def _filled(model: Model, window: int, output: int, reasoning: bool) -> Model:
    window = model.context_window or window
    return msgspec.structs.replace(
        model,
        context_window=window,
        max_output=model.max_output or min(output, max(1, window // 2)),
        reasoning=model.reasoning or (reasoning and model.source != "user"),
    )


def _old(model_id: str) -> tuple[int, int, bool] | None:
    name = model_id.rsplit("/", 1)[-1].lower()  # gateways add a vendor prefix
    name = name.rpartition("anthropic.")[2].rpartition("openai.")[2]  # Bedrock adds a region before it
    return next(((row[1], row[2], row[3]) for row in _OLD if name.startswith(row[0])), None)


def _by_kind(provider: Provider | None) -> tuple[int, int]:
    if provider is not None and provider.id == "ollama":
        return 32_768, 8_192
    if provider is not None and (provider.local or provider.discover):
        return 32_768, 4_096
    return 128_000, 16_384

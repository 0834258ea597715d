"""Model providers of extensions before anything starts: those that manifests name, with the models of the last run
from ``extension-models.json``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ConfigError, ExtensionError, UsageError
from zot.features.extensions.loader.discovery import global_dir, project_dir
from zot.features.extensions.loader.manifest import read_manifest
from zot.provider.catalog import EXTENSION_MODELS
from zot.provider.model import Model
from zot.provider.providers import JOINED, Provider, builtin_providers
from zot.system.json_store import JsonCache

if TYPE_CHECKING:
    from zot.features.extensions.loader.discovery import DiscoveredExtension
    from zot.provider.catalog import Catalog
    from zot.provider.model_call import Client


class KnownProvider(msgspec.Struct, frozen=True):
    """A provider in the file. ``directory`` is that of its extension; ``replaces`` a provider of zot."""

    id: str
    title: str
    extension: str
    directory: str
    replaces: bool = False
    models: tuple[Model, ...] = ()

    @property
    def row(self) -> Provider:
        return provider_row(self.id, self.title, self.models)


def provider_row(id: str, title: str, models: Sequence[Model]) -> Provider:
    return Provider(
        id=id,
        name=title or id,
        api=JOINED,
        needs_key=False,
        any_model=True,
        key_login=False,
        lists_models=False,
        default_model=models[0].id if models else "",
    )


class _File(msgspec.Struct):
    providers: dict[str, KnownProvider] = {}


def _file(home: Path) -> JsonCache[_File]:
    return JsonCache(home / EXTENSION_MODELS, _File)


def remember_providers(home: Path, present: Iterable[KnownProvider]) -> None:
    """For later runs and lists; a home that cannot be written is no error."""
    known = {f"{each.directory}:{each.id}": each for each in present}
    stored = _file(home).load().providers
    if all(stored.get(key) == each for key, each in known.items()):
        return
    with suppress(OSError, ConfigError), _file(home).edit() as content:
        content.providers.update(known)


def named_providers(home: Path, entries: Iterable[DiscoveredExtension]) -> dict[str, KnownProvider]:
    """The providers of extensions that will run, by id; the first extension that names one has it. No extension of a
    project replaces a provider of zot."""
    stored = _file(home).load().providers
    found: dict[str, KnownProvider] = {}
    for entry in entries:
        manifest = entry.manifest
        for id in manifest.providers if "provider" in manifest.uses else ():
            if entry.scope == "project" and id in builtin_providers():
                continue
            directory = str(manifest.directory)
            known = stored.get(f"{directory}:{id}") or KnownProvider(id, "", manifest.name, directory)
            found.setdefault(id, msgspec.structs.replace(known, extension=manifest.name))
    return found


class KnownProviders:
    """A ``ProviderSource`` for lists: nothing is started."""

    def __init__(self, known: Mapping[str, KnownProvider]) -> None:
        self._known = known

    def providers(self) -> Mapping[str, Provider]:
        builtin = builtin_providers()
        return {id: each.row for id, each in self._known.items() if each.replaces or id not in builtin}

    def models(self) -> list[Model]:
        shown = self.providers()
        return [model for id, each in self._known.items() if id in shown for model in each.models]

    def client_for(self, model: Model, *, retries: int) -> Client:
        raise UsageError(f"{model.provider} is a provider of an extension, which does not run here")

    def has_login(self, provider: str) -> bool:
        return False

    async def log_in(self, provider: str) -> None:
        raise UsageError(f"{provider}: log in with `/login {provider}` in zot")


def join_known_providers(catalog: Catalog, home: Path, cwd: Path) -> None:
    """Add the providers of the last run to a list of models, as far as their extensions are still there."""
    if not (home / EXTENSION_MODELS).exists():
        return
    places = {os.path.abspath(global_dir(home)), os.path.abspath(project_dir(cwd))}
    found: dict[str, KnownProvider] = {}
    for known in _file(home).load().providers.values():
        directory = Path(known.directory)
        if str(directory.parent) not in places:
            continue
        with suppress(ExtensionError):  # it is gone, or cannot run
            manifest = read_manifest(directory)
            if manifest.enabled and known.id in manifest.providers:
                found.setdefault(known.id, known)
    if found:
        catalog.join(KnownProviders(found))

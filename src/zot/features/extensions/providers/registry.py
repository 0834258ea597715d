"""The providers of a run's extensions: named by manifests before anything starts, then as extensions contribute them.
A ``ProviderSource`` of the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import AuthFailed, BadRequest, ConfigError, ExtensionError, NotLoggedIn, ProviderError, ZotError
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.loader.extension_settings import secret_place
from zot.features.extensions.loader.known_providers import KnownProvider, provider_row, remember_providers
from zot.features.extensions.open_questions import PRIVATE_METHODS
from zot.features.extensions.providers import credentials
from zot.features.extensions.providers.description import (
    Description,
    ModelFields,
    model_row,
    read_description,
    read_models,
)
from zot.features.extensions.requests import RequestError
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import Model
from zot.provider.model_call import Client
from zot.provider.providers import Provider
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.agent.services import Services
    from zot.features.extensions.host import ExtensionHost
    from zot.features.recording.frame_trace import Direction

_SILENCE_S = 300.0
_LISTED = 8


class JoinedProvider(msgspec.Struct, eq=False):
    """A provider that a running extension contributed; ``models`` may be those of ``provider.models``."""

    id: str
    child: ExtensionChild
    description: Description
    models: tuple[Model, ...]
    refreshed: asyncio.Event

    @property
    def row(self) -> Provider:
        return provider_row(self.id, self.description.title, self.models)


class ExtensionProviders:
    """``named`` are those of manifests, with the models of the last run."""

    def __init__(self, services: Services, named: Mapping[str, KnownProvider]) -> None:
        self.services = services
        self._named = dict(named)
        self._joined: dict[str, JoinedProvider] = {}
        self._changed = asyncio.Condition()
        self._locks: dict[str, asyncio.Lock] = {}
        self._host: ExtensionHost | None = None
        self._owners = {id: known.extension for id, known in named.items()}
        self._waited = False
        self._asking: set[bytes] = set()  # ids of open requests whose answer is a credential

    @classmethod
    def of(cls, services: Services) -> ExtensionProviders:
        """Those of the run; created if no manifest named any."""
        source = services.catalog.source
        if not isinstance(source, cls):
            source = cls(services, {})
            services.catalog.join(source)
        return source

    def attach(self, host: ExtensionHost) -> None:
        self._host = host

    # --- for the catalog (provider.provider_source.ProviderSource)

    def providers(self) -> Mapping[str, Provider]:
        own = self.services.catalog.own_providers()
        found = {id: known.row for id, known in self._named.items() if known.replaces or id not in own}
        return found | {id: joined.row for id, joined in self._joined.items()}

    def models(self) -> list[Model]:
        found = {id: known.models for id, known in self._named.items()} | {
            id: joined.models for id, joined in self._joined.items()
        }
        shown = self.providers()
        return [model for id, models in found.items() if id in shown for model in models]

    def client_for(self, model: Model, *, retries: int) -> Client:
        from zot.features.extensions.providers.client import ExtensionClient

        return ExtensionClient(self, model, retries)

    def owner_of(self, provider: str) -> str:
        """The extension of a provider; empty if unknown."""
        return self._owners.get(provider, "")

    def has_login(self, provider: str) -> bool:
        joined = self._joined.get(provider)
        return joined is not None and joined.description.key.login

    # --- contributions

    def contributed(self, child: ExtensionChild, name: str, value: dict[str, Any] | None) -> None:
        """For ``Contributions.special``; None withdraws it. RequestError if it is not accepted."""
        if value is None:
            if (joined := self._joined.get(name)) is not None and joined.child is child:
                del self._joined[name]
                self._update()
            return
        description = read_description(name, value)
        self._check(child, name, description)
        models = self._rows(name, description.models)
        known = self._named.get(name)
        if description.refresh and not models and known is not None and known.extension == child.name:
            models = known.models
        joined = JoinedProvider(name, child, description, models, asyncio.Event())
        self._joined[name] = joined
        self._owners[name] = child.name
        self._update()
        if description.refresh and not self._needs_login(joined):
            self._start(self._refresh(joined))
        else:
            joined.refreshed.set()

    def _check(self, child: ExtensionChild, name: str, description: Description) -> None:
        if child.guard:
            raise RequestError("refused", "contribute provider: a guard cannot be a provider")
        own = self.services.catalog.own_providers()
        if name in own:
            if child.entry.scope == "project":
                text = f"contribute provider: an extension of a project cannot replace the provider {name}"
                raise RequestError("refused", text)
            if not description.replace:
                raise RequestError("conflict", f'{name} is a provider of zot; to take its place, set "replace"')
            if name not in child.manifest.providers:
                text = f'contribute provider: to replace {name}, name it in "provides.providers" of extension.json'
                raise RequestError("denied", text)
        other = self._joined.get(name)
        if other is not None and other.child.name != child.name:
            raise RequestError("conflict", f"the provider {name} belongs to the extension {other.child.name}")
        owner = self._named.get(name)
        if owner is not None and owner.extension != child.name and name not in child.manifest.providers:
            raise RequestError("conflict", f"the provider {name} belongs to the extension {owner.extension}")
        setting = description.key.setting
        if setting and not any(each.secret and each.name == setting for each in child.manifest.settings):
            raise RequestError("bad_params", f"value.key.setting: {setting[:60]!r} is no secret setting")
        if name not in child.manifest.providers:
            child.log.write(f'provider {name} is not in "provides.providers": `--model {name}/…` cannot start with it')

    def _rows(self, provider: str, fields: tuple[ModelFields, ...]) -> tuple[Model, ...]:
        return tuple(model_row(provider, each) for each in fields)

    def _update(self) -> None:
        """The catalog, the current model and the file of the last run."""
        self.services.catalog.join(self)
        self._start(self._announce())
        conversation = self._host.conversation if self._host is not None else None
        if conversation is None or conversation.agent.model.provider not in self._joined:
            return
        agent = conversation.agent
        known = self.services.catalog.find(agent.model.id, agent.model.provider)
        if known is not None and known != agent.model:
            agent.model = known
            for feature in conversation.features:
                feature.model_updated(known)

    async def _announce(self) -> None:
        async with self._changed:
            self._changed.notify_all()
        saved = [
            KnownProvider(
                joined.id,
                joined.description.title,
                joined.child.name,
                str(joined.child.entry.manifest.directory),
                joined.description.replace,
                joined.models,
            )
            for joined in self._joined.values()
            if joined.id in joined.child.manifest.providers
        ]
        await asyncio.to_thread(remember_providers, self.services.home, saved)

    def _start(self, work: Any) -> None:
        if self._host is None:
            work.close()
        else:
            self._host.start_task(work)

    async def _refresh(self, joined: JoinedProvider) -> None:
        """Ask for its models; the known ones stay if that fails."""
        try:
            credential = await self.credential(joined) if self._has_key(joined) else None
            params = {"provider": joined.id, **({"credential": credential} if credential else {})}
            result = await self._ask(joined, "provider.models", params, limits.REQUEST_REPLY)
            models = read_models(cast("dict[str, Any]", result).get("models") if isinstance(result, dict) else None)
        except (ZotError, RequestError) as error:
            joined.child.fault("models", f"provider {joined.id}: its models are not known: {error}")
        else:
            if self._joined.get(joined.id) is joined:
                joined.models = self._rows(joined.id, models)
                self._update()
        finally:
            joined.refreshed.set()

    # --- for clients

    @property
    def retry_wait_s(self) -> float:
        return self.services.settings.values.retry_wait_s

    def silence_s(self, provider: str) -> float:
        return self.services.settings.values.silence_for(provider) or _SILENCE_S

    def without_secrets(self, text: str) -> str:
        return text if self._host is None else self._host.without_secrets(text)

    async def settle(self, provider: str) -> str:
        """Wait for a provider before the first prompt; returns why it is not there."""
        try:
            await self.wait_for(provider)
        except ProviderError as error:
            return str(error)
        return ""

    async def wait_for(self, provider: str) -> JoinedProvider:
        """The provider, as soon as its extension contributed it; BadRequest after 10 s, or if it never will."""
        try:
            async with asyncio.timeout(limits.PROVIDER_WAIT), self._changed:
                while (joined := self._joined.get(provider)) is None or not joined.child.alive:
                    if (reason := self._hopeless(provider)) or self._waited:
                        raise BadRequest(self._missing(provider, reason), provider=provider)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_S):
                            await self._changed.wait()
                self._waited = False
                return joined
        except TimeoutError:
            self._waited = True  # the next call does not wait again for an extension that is just silent
            reason = f"did not offer it within {limits.PROVIDER_WAIT:g} s"
            raise BadRequest(self._missing(provider, reason), provider=provider) from None

    def _hopeless(self, provider: str) -> str:
        """Why nothing can come any more; empty while it may."""
        host, owner = self._host, self._owners.get(provider)
        if host is None or owner is None:
            return "does not run"
        child = host.find_child(owner)
        if child is None:
            return "does not run" if host.has_started else ""
        return "is gone" if child.state == "gone" else ""

    def _missing(self, provider: str, reason: str) -> str:
        name = self._owners.get(provider, "")
        extension = f"the extension {name}" if name else "the extension that provides it"
        why = reason or "does not offer it"
        return f"{provider}: {extension} {why}; see `zot ext logs {name or 'NAME'}`, or choose another model"

    async def check_model(self, joined: JoinedProvider, model: str) -> None:
        """BadRequest for a model that the provider does not have."""
        if any(row.id == model for row in joined.models):
            return
        if not joined.refreshed.is_set():
            await joined.refreshed.wait()
        ids = [row.id for row in joined.models]
        if ids and model not in ids:
            listed = ", ".join(ids[:_LISTED]) + (", …" if len(ids) > _LISTED else "")
            text = f'{joined.id}: unknown model "{model}"; the extension {joined.child.name} has: {listed}'
            raise BadRequest(text, provider=joined.id)

    def endpoint(self, joined: JoinedProvider, credential: dict[str, Any] | None, retries: int) -> Endpoint:
        """Address and key of a provider that zot speaks to."""
        known, values = joined.description, self.services.settings.values
        key, bearer = credentials.header_key(credential or {})
        return Endpoint(
            provider=joined.id,
            base_url=known.base_url.rstrip("/"),
            api_key=key,
            key_header="authorization" if bearer else "",
            headers=known.headers,
            silence_s=self.silence_s(joined.id),
            retries=retries,
            retry_wait_s=values.retry_wait_s,
        )

    # --- credentials

    def _has_key(self, joined: JoinedProvider) -> bool:
        return joined.description.key.login or bool(joined.description.key.setting)

    def _needs_login(self, joined: JoinedProvider) -> bool:
        return joined.description.key.login and self._stored(joined) is None

    def _stored(self, joined: JoinedProvider) -> dict[str, Any] | None:
        place = credentials.credential_place(joined.id, joined.child.entry)
        try:
            return credentials.load_credential(self.services.auth, place)
        except ConfigError as error:
            raise AuthFailed(f"{joined.id}: {error}", provider=joined.id) from error

    async def credential(self, joined: JoinedProvider) -> dict[str, Any] | None:
        """The stored credential, renewed or after a login if necessary; None if the provider has none."""
        key = joined.description.key
        if key.setting:
            return self._keep(await asyncio.to_thread(self._of_setting, joined, key.setting))
        if not key.login:
            return None
        async with self._lock(joined):
            found = await asyncio.to_thread(self._stored, joined)
            if found is None:
                return await self._logged_in(joined)
            self._keep(found)
            if not credentials.has_expired(found):
                return found
        return await self.renew(joined, found) or found

    def _of_setting(self, joined: JoinedProvider, setting: str) -> dict[str, Any]:
        name = joined.child.name
        value = self.services.auth.entry(secret_place(name, setting)).api_key
        if not value:
            text = f"{joined.id}: no key; set it: `zot ext set {name} {setting}`"
            raise AuthFailed(text, provider=joined.id)
        return {"key": value}

    async def log_in(self, provider: str) -> None:
        joined = self._joined.get(provider)
        if joined is None or not joined.description.key.login:
            raise NotLoggedIn(f"{provider} has no login")
        async with self._lock(joined):
            await self._logged_in(joined)
        if joined.description.refresh:
            self._start(self._refresh(joined))

    async def _logged_in(self, joined: JoinedProvider) -> dict[str, Any]:
        params = {"provider": joined.id}
        return await self._received(joined, "provider.login", params, limits.PROVIDER_LOGIN)

    async def renew(self, joined: JoinedProvider, old: dict[str, Any]) -> dict[str, Any] | None:
        """A fresh credential instead of ``old``; None if the provider has no login."""
        if not joined.description.key.login:
            return None
        async with self._lock(joined):
            stored = await asyncio.to_thread(self._stored, joined)
            if stored is not None and stored != old:
                return self._keep(stored)  # another call was faster
            params = {"provider": joined.id, "credential": old}
            return await self._received(joined, "provider.renew", params, limits.REQUEST_REPLY)

    async def _received(
        self, joined: JoinedProvider, method: str, params: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        """Ask for a credential and store it; AuthFailed if there is none."""
        name = joined.child.name
        try:
            result = await self._ask(joined, method, params, seconds)
        except (ExtensionError, RequestError) as error:
            text = f"{joined.id}: not logged in: extension {name}: {error}; log in with `/login {joined.id}` in zot"
            raise AuthFailed(text, provider=joined.id) from error
        credential = self._keep(credentials.checked_credential(joined.id, name, result))
        place = credentials.credential_place(joined.id, joined.child.entry)
        try:
            await asyncio.to_thread(credentials.save_credential, self.services.auth, place, credential)
        except ConfigError as error:
            joined.child.fault("login", f"the login for {joined.id} was not saved: {error}")
        return credential

    async def _ask(self, joined: JoinedProvider, method: str, params: dict[str, Any], seconds: float) -> Any:
        question = extension_frames.Request(id=new_request_id(), method=method, params=params)
        marked = question.id.encode()
        if method in PRIVATE_METHODS:
            self._asking.add(marked)
        try:
            response = await joined.child.ask(question, seconds)
        finally:
            self._asking.discard(marked)
        if response.error is not None:
            message = self.without_secrets(" ".join(response.error.message.split())[:1000])
            raise RequestError(response.error.code or "failed", message or response.error.code or "failed")
        return response.result

    def _keep(self, credential: dict[str, Any]) -> dict[str, Any]:
        """Mask its texts in traces, recordings and logs from now on."""
        if self._host is not None:
            for text in credentials.secret_texts(credential):
                self._host.keep_secret(text)
        return credential

    def _lock(self, joined: JoinedProvider) -> asyncio.Lock:
        return self._locks.setdefault(joined.id, asyncio.Lock())

    def without_credentials(self, line: bytes, direction: Direction) -> bytes:
        """A line between zot and an extension, for traces."""
        if direction == "in":
            return masked_line(line) if any(id in line for id in self._asking) else line
        return masked_line(line) if b'"credential"' in line and b'"method":"provider.' in line else line


_LOOK_S = 0.2  # between looks whether an extension is gone


def masked_line(line: bytes) -> bytes:
    """A frame without ``result`` and ``params.credential``, for traces."""
    try:
        frame = cast("dict[str, Any]", msgspec.json.decode(line))
        if "result" in frame:
            frame["result"] = "[removed]"
        params = frame.get("params")
        if isinstance(params, dict) and "credential" in params:
            frame["params"] = {**cast("dict[str, Any]", params), "credential": "[removed]"}
    except (msgspec.DecodeError, UnicodeError, RecursionError, AttributeError, TypeError):
        return b'{"type":"removed"}\n'
    return msgspec.json.encode(frame) + b"\n"

"""Resolves provider, model, address and credential of a run: typed values, then the resumed session, settings,
defaults. Wrong typed values are errors; stale ones fall back with one notice. It opens no connection."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zot.agent.endpoint import dialect_for, endpoint_for
from zot.agent.settings import Settings
from zot.errors import ConfigError, NotLoggedIn, UsageError
from zot.provider.auth.auth_store import AuthStore
from zot.provider.auth.credential_lookup import Credential, find_credential, has_credential
from zot.provider.catalog import Catalog, with_limits
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import Model
from zot.provider.providers import FALLBACKS, Api, Provider, canonical_id, is_loopback, is_url

if TYPE_CHECKING:
    from zot.agent.config import RunConfig

DEFAULT_PROVIDER = "anthropic"

# What local servers get as a key: most ignore it, some want one to be there.
_LOCAL_KEY = "ollama"

ANY_SERVER = "--provider ollama --model NAME"  # for who has, or could have, a server of models
SELECTION = "zot.local_model.selection"  # chooses among the models on this machine; above this layer
_HERE = "http://127.0.0.1"  # of a server that is not started yet, and has no port

_TELL_THEMSELVES = ("ollama", "lmstudio", "vllm")  # what their models can do, or nothing; none of them knows grammars

_Origin = Literal["typed", "remembered", "config", "default"]


class ModelQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed, and what the resumed session remembers."""

    provider: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    insecure: bool = False
    script: str | Mapping[str, Any] = ""
    remembered_provider: str = ""
    remembered_model: str = ""

    def __repr__(self) -> str:
        """Without the key: tracebacks show this."""
        return f"Query(provider={self.provider!r}, model={self.model!r}, base_url={self.base_url!r})"


class LaunchOverrides:
    """The key and address a run was started with: they hold for the ``provider`` it began with, and only until
    another one is chosen in its place."""

    def __init__(self, config: RunConfig, provider: str) -> None:
        self.provider = provider
        self._script, self._insecure = config.script, config.insecure
        self._api_key, self.base_url = config.api_key, config.base_url

    def query(self, provider: str, model: str) -> ModelQuery:
        """A model, with what was said about its provider at the start."""
        if provider != self.provider:
            return ModelQuery(provider=provider, model=model)
        return ModelQuery(
            provider=provider,
            model=model,
            api_key=self._api_key,
            base_url=self.base_url,
            insecure=self._insecure,
            script=self._script,
        )

    @property
    def active_flags(self) -> str:
        """The flags that still hold, by name; empty when there are none."""
        given = (("--api-key", self._api_key), ("--base-url", self.base_url))
        return " and ".join(name for name, value in given if value)

    def forget(self) -> None:
        self._api_key = self.base_url = ""

    def forget_key(self, provider: str) -> None:
        """A key was just typed for this provider, and is meant instead; the address stays."""
        if provider == self.provider:
            self._api_key = ""


class ResolvedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The decision. ``endpoint`` is None for the scripted model, and when a credential is missing."""

    provider: Provider
    model: Model
    api: Api
    endpoint: Endpoint | None = None
    credential: Credential | None = None
    missing: str = ""  # why there is no credential and what to do about it; empty when nothing is missing
    script: str | Mapping[str, Any] = ""
    notices: list[str] = []

    @property
    def tool_support_unknown(self) -> bool:
        """Whether it is a model of a server on this machine of which nobody has said that it can call tools."""
        endpoint, model = self.endpoint, self.model
        if endpoint is None or self.api != "openai" or self.provider.id in _TELL_THEMSELVES:
            return False
        return is_loopback(endpoint.base_url) and not (model.source == "user" and model.tools is not None)


def resolve(
    query: ModelQuery, settings: Settings, catalog: Catalog, store: AuthStore, environ: Mapping[str, str]
) -> ResolvedModel:
    """UsageError for something typed wrong, ConfigError for an address or ``auth.json`` that cannot be used."""
    return _Resolver(query, settings, catalog, store, environ).run()


def require_credential(resolved: ResolvedModel) -> None:
    """For modes that cannot ask: NotLoggedIn when the run would have to. It carries the notices too."""
    if resolved.missing:
        raise NotLoggedIn("; ".join([*resolved.notices, resolved.missing]))


class _Resolver:
    """One resolution: provider, then credential, then model, then endpoint."""

    def __init__(
        self, query: ModelQuery, settings: Settings, catalog: Catalog, store: AuthStore, environ: Mapping[str, str]
    ) -> None:
        self.query = query
        self.settings = settings
        self.catalog = catalog
        self.store = store
        self.environ = environ
        self.providers = catalog.providers()
        self.notices: list[str] = []
        self.missing = ""
        self.unusable = False  # there is a credential, and something is wrong with it
        self.stored_model = settings.values.model
        self.repair: dict[str, str] = {}  # settings to change once everything else went well
        self.repair_notice = ""

    def run(self) -> ResolvedModel:
        query = self.query
        if query.base_url and not is_url(query.base_url):
            raise UsageError(f'--base-url "{query.base_url}": must begin with http:// or https://')
        if query.script and query.provider not in ("", "script"):
            raise UsageError(f"--script goes with --provider script, not with {query.provider}")
        self._read_name()
        provider, origin = self._provider()
        if provider.api == "script":
            return self._scripted(provider)
        if provider.api == "local":
            return self._embedded(provider)
        credential = self._credential(provider)
        if (other := self._substitute(provider, origin, credential)) is not None:
            reason, asked_for = self.missing.partition(": ")[0], origin != "default" or self.unusable
            provider, origin, credential = other, "default", self._credential(other)
            model = self._model(provider, origin)
            if asked_for:  # else the only provider with a credential is simply the one that is used
                self.notices.append(f"{reason}; using {provider.id} ({model.id})")
        else:
            model = self._model(provider, origin)
        if credential is None:
            own_server = model.source == "user" and is_loopback(model.base_url)
            if own_server or not provider.needs_key:  # a server on this machine, or ``auth: none``
                self.missing = ""
                credential = Credential(_LOCAL_KEY if provider.local or own_server else "")
        return self._resolved(provider, model, credential)

    def _read_name(self) -> None:
        """Put the id and the provider that are meant in place of the model's name that was typed."""
        query = self.query
        if not query.model or query.script or query.provider == "script":
            return
        asked = self._typed_provider().id if query.provider else ""
        preferred = asked or canonical_id(self.settings.values.provider, self.providers)
        names = self.settings.values.model_names
        if query.model not in names:
            if self.catalog.find(query.model, asked) is not None or query.base_url:
                return  # as most are typed; and an address of one's own may serve anything
            if not asked and (row := self.providers.get(preferred)) is not None and row.any_model:
                return
        from zot.agent.model_lookup import match_model

        found = match_model(query.model, self.catalog, names, provider=asked, usable=self._can_use)
        if found.notice:
            self.notices.append(found.notice)
        self.query = msgspec.structs.replace(query, model=found.model, provider=found.provider or query.provider)

    def _can_use(self, provider: str) -> bool:
        row = self.providers.get(provider)
        return row is not None and (not row.needs_key or self._has_credential(row))

    # -- provider -----------------------------------------------------------------------------------------------

    def _provider(self) -> tuple[Provider, _Origin]:
        query = self.query
        if query.provider:
            return self._typed_provider(), "typed"
        if query.script:
            return self.providers["script"], "typed"
        stored, origin = self._stored_provider()
        if query.model:
            return self._provider_of(query.model, stored), "typed"
        if origin == "default" and self.stored_model:
            return self._provider_of(self.stored_model, stored), "config"
        return stored, origin

    def _typed_provider(self) -> Provider:
        name = canonical_id(self.query.provider, self.providers)
        if name not in self.providers:
            known = ", ".join(self.providers)
            raise UsageError(f'unknown provider "{self.query.provider}"; known providers: {known}')
        return self.providers[name]

    def _stored_provider(self) -> tuple[Provider, _Origin]:
        """What the session or the settings name, or the default; a stale name falls back."""
        remembered = canonical_id(self.query.remembered_provider, self.providers)
        if remembered in self.providers:
            return self.providers[remembered], "remembered"
        if remembered:
            self.notices.append(f'the session\'s provider "{remembered}" is unknown; using the settings')
        named = canonical_id(self.settings.values.provider, self.providers)
        if not named:
            return self.providers[DEFAULT_PROVIDER], "default"
        if named in self.providers:
            return self.providers[named], "config"
        choices = (self.providers[name] for name in FALLBACKS)
        provider = next((p for p in choices if self._has_credential(p)), self.providers[DEFAULT_PROVIDER])
        self.stored_model = ""  # it belonged to the one that is gone
        self.repair = {"provider": provider.id, "model": ""}
        self.repair_notice = f'{self.settings.path}: unknown provider "{named}"; using {provider.id}'
        return provider, "default"

    def _provider_of(self, model_id: str, preferred: Provider) -> Provider:
        """Who serves a model named without a provider: the preferred one if it can, else one with a credential."""
        if self.catalog.find(model_id, preferred.id):
            return preferred
        owners = [self.providers[row.provider] for row in self.catalog.rows() if row.id == model_id]
        return next((p for p in owners if self._has_credential(p)), owners[0] if owners else preferred)

    # -- credential ---------------------------------------------------------------------------------------------

    def _credential(self, provider: Provider) -> Credential | None:
        """The provider's credential; why there is none is kept in ``missing``, not raised."""
        self.missing, self.unusable = "", False
        try:
            commands = self.settings.values.api_key_command
            found = find_credential(provider, self.store, self.environ, api_key=self.query.api_key, commands=commands)
        except (NotLoggedIn, ConfigError) as error:
            self.missing, self.unusable = str(error), True
            return None
        if found is None and provider.needs_key:
            self.missing = self._how_to_log_in(provider)
        return found

    def _has_credential(self, provider: Provider) -> bool:
        return has_credential(provider, self.store, self.environ, self.settings.values.api_key_command)

    def _how_to_log_in(self, provider: Provider) -> str:
        variable = " or ".join(provider.env)
        text = f"no credential for {provider.id}: set {variable}, pass --api-key, or log in with /login"
        own = (p for p in self.providers.values() if p.needs_key and not (p.rows_of or p.cloud))
        others = [p.id for p in own if self._has_credential(p)]
        if others:
            return f"{text}; there is one for {', '.join(others)} (--provider {others[0]})"
        if provider.user_endpoint:
            return f'{text}; for a server without keys write "auth": "none" in models.json'
        here = any(row.provider == "local" for row in self.catalog.rows())
        embedded = "--provider local" if here else "zot local install small && zot --provider local"
        return f"{text}; no key needed: {embedded}, {ANY_SERVER}, or --provider script for a demonstration"

    def _substitute(self, provider: Provider, origin: _Origin, credential: Credential | None) -> Provider | None:
        """Another provider, when nobody asked for this one and it cannot be used without a key."""
        if credential is not None or not provider.needs_key or origin == "typed" or self.query.base_url:
            return None
        others = (self.providers[name] for name in FALLBACKS if name != provider.id)
        return next((other for other in others if self._has_credential(other)), None)

    # -- model --------------------------------------------------------------------------------------------------

    def _model(self, provider: Provider, origin: _Origin) -> Model:
        query = self.query
        if query.model:
            wanted = query.model
            if model := self._known(provider, wanted):
                return model
            if query.base_url:  # an address of one's own may serve anything
                return self._ad_hoc(provider, wanted)
            elsewhere = self.catalog.find(wanted)
            if elsewhere is not None:
                raise UsageError(
                    f'model "{wanted}" belongs to {elsewhere.provider}, not to {provider.id}; leave out --provider or'
                    f" use --provider {elsewhere.provider}"
                )
            from zot.agent.model_lookup import suggestion_text

            owner = provider.rows_of or provider.id
            closest = suggestion_text(wanted, (row for row in self.catalog.rows() if row.provider == owner))
            raise UsageError(
                f'unknown model "{wanted}" (provider="{provider.id}"){closest};'
                " zot --list-models shows the known ones, models.json adds others"
            )
        if query.remembered_model and provider.id == canonical_id(query.remembered_provider, self.providers):
            if model := self._known(provider, query.remembered_model):
                return model
            default = self._default_model(provider)
            self.notices.append(f'the session\'s model "{query.remembered_model}" is unknown; using {default.id}')
            return default
        stored = canonical_id(self.settings.values.provider, self.providers) or DEFAULT_PROVIDER
        if self.stored_model and (
            stored == provider.id or self.catalog.find(self.stored_model, provider.id) is not None
        ):
            return self._known(provider, self.stored_model) or self._stale_model(provider, origin)
        return self._default_model(provider)

    def _stale_model(self, provider: Provider, origin: _Origin) -> Model:
        """The default in place of a stored model the provider does not have."""
        default = self._default_model(provider)
        elsewhere = self.catalog.find(self.stored_model)
        if elsewhere is not None and origin != "config":
            return default  # the stored pair was never asked for
        reason = "is unknown" if elsewhere is None else f"belongs to {elsewhere.provider}"
        what = f'{self.settings.path}: model "{self.stored_model}" {reason} (provider="{provider.id}")'
        self.repair = {"model": ""}
        self.repair_notice = f"{what}; using {default.id}"
        return default

    def _default_model(self, provider: Provider) -> Model:
        """The table's default, or for providers without one the first model the user listed."""
        if name := provider.default_model:
            return self.catalog.find(name, provider.id) or self._ad_hoc(provider, name)
        rows = (row for row in self.catalog.rows() if row.provider == provider.id and row.source == "user")
        if row := next(rows, None):
            return row
        raise UsageError(f"{provider.id} has no default model: name one with --model")

    def _known(self, provider: Provider, model_id: str) -> Model | None:
        """The catalogue's row; providers that take any id get a made-up one."""
        if model := self.catalog.find(model_id, provider.id):
            return model
        return self._ad_hoc(provider, model_id) if provider.any_model else None

    def _ad_hoc(self, provider: Provider, model_id: str) -> Model:
        source = "ollama" if provider.id == "ollama" else "user"
        return with_limits(Model(id=model_id, provider=provider.id, name=model_id, source=source), provider)

    # -- the result ---------------------------------------------------------------------------------------------

    def _resolved(self, provider: Provider, model: Model, credential: Credential | None) -> ResolvedModel:
        endpoint = None
        if credential is not None:
            endpoint = endpoint_for(
                provider,
                model,
                credential,
                base_url=self.query.base_url,
                insecure=self.query.insecure,
                values=self.settings.values,
                environ=self.environ,
            )
            if self.query.insecure and not endpoint.insecure:
                self.notices.append(f"--insecure has no effect on the built-in address of {provider.id}")
        if self.repair:  # reported in one line, whether it can be saved or not
            try:
                self.settings.save(**self.repair)
            except ConfigError:
                self.repair_notice += " (the setting could not be changed)"
            self.notices.append(self.repair_notice)
        self.notices += self.store.notices
        self.store.notices.clear()
        if (api := dialect_for(provider, model, credential)) == "grammar":
            model = msgspec.structs.replace(model, tool_calls="grammar")
        return ResolvedModel(
            provider=provider,
            model=model,
            api=api,
            endpoint=endpoint,
            credential=credential,
            missing=self.missing,
            notices=self.notices,
        )

    def _scripted(self, provider: Provider) -> ResolvedModel:
        from zot.provider.scripted_client import DEMONSTRATION  # only the scripted model needs its client

        model = Model(
            id=self.query.model or provider.default_model,
            provider=provider.id,
            name=provider.name,
            context_window=200_000,
            max_output=32_000,
            source="script",
        )
        return ResolvedModel(
            provider=provider,
            model=model,
            api="script",
            script=self.query.script or str(DEMONSTRATION),
            notices=self.notices,
        )

    def _embedded(self, provider: Provider) -> ResolvedModel:
        """The model on this machine: it needs no credential, but weights and a runtime, which may be missing."""
        selection: Any = import_module(SELECTION)  # no other run needs it
        query, remembered = self.query, ""
        if query.base_url:
            raise UsageError(
                "--base-url does not go with --provider local; for a server of your own: --provider llama.cpp"
            )
        if canonical_id(query.remembered_provider, self.providers) == provider.id:
            remembered = query.remembered_model
        elif canonical_id(self.settings.values.provider, self.providers) == provider.id:
            remembered = self.stored_model
        found = selection.select_model(query.model, remembered)
        values, environ = self.settings.values, self.environ
        key = Credential("")
        endpoint = endpoint_for(
            provider, found.model, key, base_url=_HERE, insecure=False, values=values, environ=environ
        )
        return ResolvedModel(
            provider=provider,
            model=found.model,
            api=selection.API,
            endpoint=None if found.missing else endpoint,
            missing=found.missing,
            notices=[*self.notices, *([found.notice] if found.notice else [])],
        )

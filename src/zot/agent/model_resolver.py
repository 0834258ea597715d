"""Resolves provider, model, address and credential of a run: flags, then the resumed session, settings, defaults.
Wrong flags are errors; stale stored values fall back with one notice. Opens no connection."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zot.agent.endpoint import address_variable, dialect_for, endpoint_for, with_serving_prices
from zot.agent.provider_choice import choose_provider, usable_providers
from zot.agent.settings import Settings
from zot.errors import ConfigError, NotLoggedIn, UsageError
from zot.provider.auth.auth_store import AuthStore
from zot.provider.auth.credential_lookup import Credential, find_credential, has_credential
from zot.provider.catalog import Catalog, builtin_rows, with_limits
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import Model
from zot.provider.providers import JOINED, Api, Provider, canonical_id, host_of, is_loopback, is_url

if TYPE_CHECKING:
    from zot.agent.config import RunConfig

DEFAULT_PROVIDER = "anthropic"

# The key for local servers: most ignore it, some require one.
_LOCAL_KEY = "ollama"

ANY_SERVER = "--provider ollama --model NAME"  # a local model server
SELECTION = "zot.local_model.selection"  # chooses among the models on this machine; above this layer
_HERE = "http://127.0.0.1"  # of a server that is not started yet and has no port

_REPORT_ABILITIES = ("ollama", "lmstudio", "vllm")  # known abilities of their models; none of them supports grammars

_Origin = Literal["typed", "remembered", "config", "default"]


class ModelQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The typed values, and those of the resumed session."""

    provider: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    base_url_from: str = ""  # the variable of the base_url; empty for the flag
    insecure: bool = False
    script: str | Mapping[str, Any] = ""
    remembered_provider: str = ""
    remembered_model: str = ""

    def __repr__(self) -> str:
        """Omits the key, since tracebacks show this."""
        return f"Query(provider={self.provider!r}, model={self.model!r}, base_url={self.base_url!r})"


class LaunchOverrides:
    """Key and address of the command line; they apply to the first ``provider`` until another one is chosen."""

    def __init__(self, config: RunConfig, provider: str) -> None:
        self.provider = provider
        self._script, self._insecure = config.script, config.insecure
        self._api_key, self.base_url, self._base_url_from = config.api_key, config.base_url, config.base_url_from

    def query(self, provider: str, model: str) -> ModelQuery:
        """A model, with the flags about its provider."""
        if provider != self.provider:
            return ModelQuery(provider=provider, model=model)
        return ModelQuery(
            provider=provider,
            model=model,
            api_key=self._api_key,
            base_url=self.base_url,
            base_url_from=self._base_url_from if self.base_url else "",
            insecure=self._insecure,
            script=self._script,
        )

    @property
    def active_flags(self) -> str:
        """The flags that still apply, by name; empty if none."""
        given = (("--api-key", self._api_key), ("--base-url", self.base_url))
        return " and ".join(name for name, value in given if value)

    def forget(self) -> None:
        self._api_key = self.base_url = ""

    def forget_key(self, provider: str) -> None:
        """Drop the key, since one was just typed for this provider; the address stays."""
        if provider == self.provider:
            self._api_key = ""


class ResolvedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The result. ``endpoint`` is None for the scripted model, or if a credential is missing."""

    provider: Provider
    model: Model
    api: Api
    endpoint: Endpoint | None = None
    credential: Credential | None = None
    missing: str = ""  # why the credential is missing, and a fix; else empty
    script: str | Mapping[str, Any] = ""
    notices: list[str] = []
    base_url_from: str = ""  # the variable that the address comes from
    undecided: tuple[str, ...] = ()  # several providers have a credential, and none was ever used

    @property
    def choice_notice(self) -> str:
        """For front ends that do not ask which provider to use; empty if there was no choice."""
        if not self.undecided:
            return ""
        others = ", ".join(self.undecided)
        return f"using {self.provider.id}, the first of several credentials ({others}); choose with --provider NAME"

    @property
    def address_notice(self) -> str:
        """Names the variable and host of an address from the environment."""
        if not self.base_url_from or self.endpoint is None:
            return ""
        return f"{self.base_url_from}: requests to {self.provider.id} go to {host_of(self.endpoint.base_url)}"

    @property
    def tool_support_unknown(self) -> bool:
        """True for a model of a local server whose tool calling is unknown."""
        endpoint, model = self.endpoint, self.model
        if endpoint is None or self.api != "openai" or self.provider.id in _REPORT_ABILITIES:
            return False
        return is_loopback(endpoint.base_url) and not (model.source == "user" and model.tools is not None)


def resolve(
    query: ModelQuery, settings: Settings, catalog: Catalog, store: AuthStore, environ: Mapping[str, str]
) -> ResolvedModel:
    """UsageError for a wrong flag, ConfigError for a wrong address or ``auth.json``."""
    return _Resolver(query, settings, catalog, store, environ).run()


def guess_notice(model: Model) -> str:
    """The line about a model that the catalog does not have."""
    price = "" if model.is_priced else f"; `zot models price {model.provider}/{model.id} INPUT OUTPUT` sets its price"
    return f"{model.id} is not in the catalog; guessed its limits from {model.guessed}{price}"


def require_credential(resolved: ResolvedModel) -> None:
    """For modes that cannot ask: NotLoggedIn if a login is missing, with the notices."""
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
        self.unusable = False  # the credential exists but is invalid
        self.stored_model = settings.values.model
        self.repair: dict[str, str] = {}  # settings to change if everything else succeeds
        self.repair_notice = ""
        self.undecided: tuple[str, ...] = ()

    def run(self) -> ResolvedModel:
        query = self.query
        if query.base_url and not is_url(query.base_url):
            raise UsageError(f'--base-url "{query.base_url}": expected http:// or https://')
        if query.script and query.provider not in ("", "script"):
            raise UsageError(f"--script requires --provider script, not {query.provider}")
        self._read_name()
        provider, origin = self._provider()
        if provider.api == "script":
            return self._scripted(provider)
        if provider.api == "local":
            return self._embedded(provider)
        if provider.api == JOINED:
            return self._joined(provider, origin)
        credential = self._credential(provider)
        if (other := self._substitute(provider, origin, credential)) is not None:
            reason, asked_for = self.missing.partition(": ")[0], origin != "default" or self.unusable
            provider, origin, credential, self.undecided = other, "default", self._credential(other), ()
            model = self._model(provider, origin)
            if asked_for:  # no notice if only one provider has a credential
                self.notices.append(f"{reason}; using {provider.id} ({model.id})")
        else:
            model = self._model(provider, origin)
        if credential is None:
            own_server = model.source == "user" and is_loopback(model.base_url)
            if own_server or not provider.needs_key:  # a local server, or ``auth: none``
                self.missing = ""
                credential = Credential(_LOCAL_KEY if provider.local or own_server else "")
        return self._resolved(provider, model, credential)

    def _read_name(self) -> None:
        """Replace a typed model name by the id and provider it resolves to."""
        query = self.query
        if not query.model or query.script or query.provider == "script":
            return
        requested = self._typed_provider().id if query.provider else ""
        preferred = requested or canonical_id(self.settings.values.provider, self.providers)
        if not preferred and len(usable := self._usable()) == 1:
            preferred = usable[0].id
        names = self.settings.values.model_names
        if query.model not in names and not self._names_joined(query.model):
            owner = requested or (preferred if "/" in query.model else "")
            gateway = "/" in query.model and not owner  # its ids begin with the name of a vendor
            if (not gateway and self.catalog.find(query.model, owner) is not None) or self._other_address(preferred):
                return  # the usual case; a custom address may serve any model
            if not requested and (row := self.providers.get(preferred)) is not None and row.any_model:
                return
        from zot.agent.model_lookup import match_model

        found = match_model(query.model, self.catalog, names, provider=requested, usable=self._can_use)
        if found.notice:
            self.notices.append(found.notice)
        self.query = msgspec.structs.replace(query, model=found.model, provider=found.provider or query.provider)

    def _names_joined(self, model: str) -> bool:
        """True for ``provider/id`` of an extension's provider."""
        row = self.providers.get(model.partition("/")[0]) if self.catalog.source is not None else None
        return row is not None and row.api == JOINED

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
        named = query.model or (self.stored_model if origin == "default" else "")
        if not named:
            return stored, origin
        self.undecided = ()
        return self._provider_of(named, stored), "typed" if query.model else "config"

    def _typed_provider(self) -> Provider:
        name = canonical_id(self.query.provider, self.providers)
        if name not in self.providers:
            known = ", ".join(self.providers)
            raise UsageError(f'unknown provider "{self.query.provider}"; known providers: {known}')
        return self.providers[name]

    def _stored_provider(self) -> tuple[Provider, _Origin]:
        """The provider of the session, the settings or the default; a stale name falls back."""
        remembered = canonical_id(self.query.remembered_provider, self.providers)
        if remembered in self.providers:
            return self.providers[remembered], "remembered"
        if remembered:
            self.notices.append(f'unknown provider "{remembered}" in the session; using the settings')
        named = canonical_id(self.settings.values.provider, self.providers)
        if not named:
            return self._unnamed_provider(), "default"
        if named in self.providers:
            return self.providers[named], "config"
        provider = next(iter(self._usable()), self.providers[DEFAULT_PROVIDER])
        self.stored_model = ""  # it belonged to the unknown provider
        self.repair = {"provider": provider.id, "model": ""}
        self.repair_notice = f'{self.settings.path}: unknown provider "{named}"; using {provider.id}'
        return provider, "default"

    def _unnamed_provider(self) -> Provider:
        """The default if a key or address was typed: it does not name the provider of another credential."""
        default = self.providers[DEFAULT_PROVIDER]
        if self.query.api_key or self.query.base_url:
            return default
        candidates = usable_providers(self.catalog, self._is_known, self.environ)
        choice = choose_provider(candidates, self.settings.path.parent)
        self.undecided = choice.undecided
        return choice.provider or default

    def _usable(self) -> list[Provider]:
        return usable_providers(self.catalog, self._has_credential, self.environ)

    def _other_address(self, provider: str) -> bool:
        """True if a flag or variable replaces the provider's address, which may then serve any model."""
        row = self.providers.get(provider or DEFAULT_PROVIDER)
        return bool(self.query.base_url) or (
            row is not None and bool(address_variable(row, Model(id="", provider=row.id), self.environ))
        )

    def _provider_of(self, model_id: str, preferred: Provider) -> Provider:
        """The provider of a model named without one: the preferred one if it has it, else one with a credential."""
        if self.catalog.find(model_id, preferred.id):
            return preferred
        owners = [self.providers[row.provider] for row in self.catalog.named(model_id)]
        if not owners and not preferred.any_model:
            from zot.provider.families import home_of, unlisted_model  # a model newer than the catalog

            home = self.providers.get(home_of(model_id)[0])
            owners = [home] if home is not None and unlisted_model(model_id, home, builtin_rows) else []
        return next((p for p in owners if self._has_credential(p)), owners[0] if owners else preferred)

    # -- credential ---------------------------------------------------------------------------------------------

    def _credential(self, provider: Provider) -> Credential | None:
        """The provider's credential; the reason for a missing one is stored in ``missing``."""
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

    def _is_known(self, provider: Provider) -> bool:
        """Also with an expired login: it is reported, and another credential is used."""
        try:
            return self._has_credential(provider) or bool(self.store.shape(provider.id).method)
        except ConfigError:
            return False

    def _how_to_log_in(self, provider: Provider) -> str:
        variable = " or ".join(provider.env)
        login = "log in with `zot auth login` or /login"
        text = f"no credential for {provider.id}: set {variable}, pass --api-key, or {login}"
        if not provider.key_login:
            text = f"not logged in to {provider.id}: run `zot auth login {provider.id}`"
        own = (p for p in self.providers.values() if p.needs_key and not (p.rows_of or p.cloud))
        others = [p.id for p in own if self._has_credential(p)]
        if others:
            return f"{text}; available: {', '.join(others)} (--provider {others[0]})"
        if provider.user_endpoint:
            return f'{text}; for a server without keys set "auth": "none" in models.json'
        here = any(row.provider == "local" for row in self.catalog.rows())
        embedded = "--provider local" if here else "zot local install small && zot --provider local"
        return f"{text}; no key needed: {embedded}, {ANY_SERVER}, or --provider script for a demonstration"

    def _substitute(self, provider: Provider, origin: _Origin, credential: Credential | None) -> Provider | None:
        """Another provider, if none was requested and this one has no key."""
        if credential is not None or not provider.needs_key or origin == "typed" or self.query.base_url:
            return None
        return next((other for other in self._usable() if other.id != provider.id), None)

    # -- model --------------------------------------------------------------------------------------------------

    def _model(self, provider: Provider, origin: _Origin) -> Model:
        query = self.query
        if query.model:
            wanted = query.model
            if model := self._known(provider, wanted):
                return model
            if self._other_address(provider.id):  # a custom address may serve any model
                return self._ad_hoc(provider, wanted)
            elsewhere = self.catalog.find(wanted)
            if elsewhere is not None:
                raise UsageError(
                    f'model "{wanted}" belongs to {elsewhere.provider}, not to {provider.id}; omit '
                    f"--provider or use --provider {elsewhere.provider}"
                )
            from zot.agent.model_lookup import suggestion_text

            owner = provider.rows_of or provider.id
            closest = suggestion_text(wanted, (row for row in self.catalog.rows() if row.provider == owner))
            raise UsageError(
                f'unknown model "{wanted}" (provider="{provider.id}"){closest}; list models with zot '
                "--list-models, add others in models.json"
            )
        if query.remembered_model and provider.id == canonical_id(query.remembered_provider, self.providers):
            if model := self._known(provider, query.remembered_model):
                return model
            default = self._default_model(provider)
            self.notices.append(f'unknown model "{query.remembered_model}" in the session; using {default.id}')
            return default
        stored = canonical_id(self.settings.values.provider, self.providers) or DEFAULT_PROVIDER
        if self.stored_model and (
            stored == provider.id or self.catalog.find(self.stored_model, provider.id) is not None
        ):
            return self._known(provider, self.stored_model) or self._stale_model(provider, origin)
        return self._default_model(provider)

    def _stale_model(self, provider: Provider, origin: _Origin) -> Model:
        """The default, if the provider does not have the stored model."""
        default = self._default_model(provider)
        elsewhere = self.catalog.find(self.stored_model)
        if elsewhere is not None and origin != "config":
            return default  # this pair was never requested
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
        raise UsageError(f"{provider.id} has no default model; pass --model ID")

    def _known(self, provider: Provider, model_id: str) -> Model | None:
        """The catalog row; a newer model of a known family and one of a provider that accepts any id get a row."""
        if model := self.catalog.find(model_id, provider.id):
            return model
        if provider.any_model:
            return self._ad_hoc(provider, model_id)
        from zot.provider.families import unlisted_model

        return None if self._other_address(provider.id) else unlisted_model(model_id, provider, builtin_rows)

    def _ad_hoc(self, provider: Provider, model_id: str) -> Model:
        source = "ollama" if provider.id == "ollama" else "user"
        row = Model(id=model_id, provider=provider.id, name=model_id, source=source)
        return with_limits(row, provider, own_server=self._other_address(provider.id) or provider.user_endpoint)

    # -- result --------------------------------------------------------------------------------------------------

    def _resolved(self, provider: Provider, model: Model, credential: Credential | None) -> ResolvedModel:
        endpoint = None if credential is None else self._endpoint(provider, model, credential)
        credential = credential if endpoint is not None else None
        if endpoint is not None and self.query.insecure and not endpoint.insecure:
            self.notices.append(f"--insecure has no effect on the built-in address of {provider.id}")
        if self.repair:  # one line, also if it cannot be saved
            try:
                self.settings.save(**self.repair)
            except ConfigError:
                self.repair_notice += " (cannot save the setting)"
            self.notices.append(self.repair_notice)
        self.notices += self.store.notices
        self.store.notices.clear()
        if model.guessed:
            self.notices.append(guess_notice(model))
        base_url = endpoint.base_url if endpoint is not None else ""
        if (api := dialect_for(provider, model, credential, base_url)) == "grammar":
            model = msgspec.structs.replace(model, tool_calls="grammar")
        if endpoint is not None:
            model = with_serving_prices(model, endpoint)
        return ResolvedModel(
            provider=provider,
            model=model,
            api=api,
            endpoint=endpoint,
            credential=credential,
            missing=self.missing,
            notices=self.notices,
            base_url_from=self._address_variable(provider, model) if endpoint is not None else "",
            undecided=self.undecided,
        )

    def _endpoint(self, provider: Provider, model: Model, credential: Credential) -> Endpoint | None:
        """None if the credential may not be sent to the address, with the reason in ``missing``."""
        query = self.query
        try:
            return endpoint_for(
                provider,
                model,
                credential,
                base_url=query.base_url,
                insecure=query.insecure,
                values=self.settings.values,
                environ=self.environ,
                base_url_from=query.base_url_from,
            )
        except NotLoggedIn as error:
            self.missing = str(error)
            return None

    def _address_variable(self, provider: Provider, model: Model) -> str:
        query = self.query
        return address_variable(
            provider, model, self.environ, base_url=query.base_url, base_url_from=query.base_url_from
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

    def _joined(self, provider: Provider, origin: _Origin) -> ResolvedModel:
        """A model of an extension's provider: the extension has address and credential."""
        for flag, value in (("--base-url", self.query.base_url), ("--api-key", self.query.api_key)):
            if value:
                raise UsageError(f"{flag} does not work with {provider.id}, which an extension provides; omit it")
        return ResolvedModel(
            provider=provider,
            model=self._model(provider, origin),
            api=provider.api,
            endpoint=Endpoint(provider=provider.id, base_url=""),
            notices=self.notices,
        )

    def _embedded(self, provider: Provider) -> ResolvedModel:
        """The local model: it needs no credential, but weights and a runtime."""
        selection: Any = import_module(SELECTION)  # only this run needs it
        query, remembered = self.query, ""
        if query.base_url:
            raise UsageError(
                "--base-url does not work with --provider local; for your own server use --provider llama.cpp"
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

"""Finds the model a typed name means: an alias, an id, ``provider/id``, or part of one id. Ambiguous names are
errors; anything but an id is reported in a notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from zot.errors import UsageError, closest
from zot.provider.catalog import Catalog
from zot.provider.model import Model
from zot.provider.providers import canonical_id

_SHORTEST_PART = 3
_NAMED = 3


class ModelMatch(msgspec.Struct, frozen=True):
    """``provider`` is empty where the name says nothing about it."""

    model: str
    provider: str = ""
    notice: str = ""


def match_model(
    typed: str,
    catalog: Catalog,
    names: Mapping[str, str],
    *,
    provider: str = "",
    usable: Callable[[str], bool] = lambda provider: True,
) -> ModelMatch:
    """``provider`` is the one that was asked for, ``usable`` whether one has a credential. A name nobody knows comes
    back as it is; UsageError when it fits several models, or when a name of one's own belongs to another provider."""
    own = names.get(typed, "")
    found = resolve_alias(own, catalog) if own else _exact(typed, catalog, provider)
    if own:
        if provider and found.provider not in ("", provider) and catalog.find(found.model, provider) is None:
            raise UsageError(f'"{typed}" means {own}, which is not of {provider}; leave out --provider')
        provider = "" if provider else found.provider
        return ModelMatch(found.model, provider, f"model: {own} ({typed})")
    if found.provider or catalog.find(typed, provider) is not None:
        return found
    return _by_part(typed, catalog, provider, usable) or found


def resolve_alias(target: str, catalog: Catalog, preferred: str = "") -> ModelMatch:
    """What a name of one's own stands for; an id that ``preferred`` has is taken to be that provider's."""
    if preferred and catalog.find(target, preferred) is not None:
        return ModelMatch(target, preferred)
    found = _exact(target, catalog, "")
    row = None if found.provider else catalog.find(target)
    return found if row is None else ModelMatch(target, row.provider)


def _exact(typed: str, catalog: Catalog, provider: str) -> ModelMatch:
    """Ids may have slashes of their own, so they come first."""
    if catalog.find(typed, provider) is not None or "/" not in typed:
        return ModelMatch(typed)
    name, _, model = typed.partition("/")
    providers = catalog.providers()
    named = providers.get(canonical_id(name, providers))
    if named is None or not (catalog.find(model, named.id) or named.any_model):
        return ModelMatch(typed)
    if provider and (asked := providers.get(provider)) and asked.id != named.id:
        return ModelMatch(typed)  # a gateway's id
    return ModelMatch(model, named.id)


def _by_part(typed: str, catalog: Catalog, provider: str, usable: Callable[[str], bool]) -> ModelMatch | None:
    """``opus46`` is the one model whose id has these letters and digits in a row; of providers that can be asked, if
    one of them has such a model."""
    part = _bare(typed)
    if len(part) < _SHORTEST_PART:
        return None
    row = catalog.providers().get(provider)
    if row is not None and row.any_model:
        return None  # it may well have a model of this name
    owner = row.rows_of or row.id if row is not None else ""
    rows = [model for model in catalog.rows() if owner in ("", model.provider) and part in _bare(model.id)]
    asked = {name: usable(name) for name in {model.provider for model in rows}}
    rows = [model for model in rows if asked[model.provider]] or rows
    if not rows:
        return None
    ids = list(dict.fromkeys(model.id for model in rows))
    if len(ids) > 1:
        raise UsageError(f'model "{typed}" could be {_listed(ids)}; say more of its id')
    return ModelMatch(ids[0], "", f"model: {ids[0]} ({typed})")


def suggestion_text(typed: str, rows: Iterable[Model]) -> str:
    """The end of an error about a model nobody knows: up to three ids that look like it."""
    near = closest(typed, (row.id for row in rows), count=_NAMED)
    return f", did you mean {_listed(near)}" if near else ""


def _listed(ids: list[str]) -> str:
    shown = [*ids[:_NAMED], *(["…"] if len(ids) > _NAMED else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}".replace(" or …", ", …")


def _bare(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())

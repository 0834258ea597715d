"""Resolves a typed model name: an alias, an id, ``provider/id``, or part of one id.
Ambiguous names are errors; a notice names the id unless it was typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from zot.errors import UsageError, closest
from zot.provider.catalog import Catalog
from zot.provider.model import Model
from zot.provider.providers import canonical_id

_SHORTEST_PART = 3
_NAMED = 3
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{6,}")
# A part of a version; not of a date or a size (70b, 128k).
_NUMBER = re.compile(r"(?<![a-z\d])[a-z]?(\d{1,2})(?![\dbkm])")


class ModelMatch(msgspec.Struct, frozen=True):
    """``provider`` is empty if the name does not include it."""

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
    """``provider`` is the requested one, ``usable`` tests for a credential.
    An unknown name is returned unchanged; UsageError if it fits several models, or an alias of another provider."""
    own = names.get(typed, "")
    found = resolve_alias(own, catalog) if own else _exact(typed, catalog, provider)
    if own:
        if provider and found.provider not in ("", provider) and catalog.find(found.model, provider) is None:
            raise UsageError(f'"{typed}" is {own}, which {provider} does not have; omit --provider')
        provider = "" if provider else found.provider
        return ModelMatch(found.model, provider, f"model: {own} ({typed})")
    if found.provider or catalog.find(typed, provider) is not None:
        return found
    return _by_part(typed, catalog, provider, usable) or found


def resolve_alias(target: str, catalog: Catalog, preferred: str = "") -> ModelMatch:
    """Resolve an alias; an id that ``preferred`` has is that provider's."""
    if preferred and catalog.find(target, preferred) is not None:
        return ModelMatch(target, preferred)
    found = _exact(target, catalog, "")
    row = None if found.provider else catalog.find(target)
    return found if row is None else ModelMatch(target, row.provider)


def _exact(typed: str, catalog: Catalog, provider: str) -> ModelMatch:
    """Ids may contain slashes: a vendor's own model is meant before a gateway's, and a gateway's before any id."""
    if "/" not in typed:
        return ModelMatch(typed)
    name, _, model = typed.partition("/")
    providers = catalog.providers()
    named = providers.get(canonical_id(name, providers))
    owned = named is not None and catalog.find(model, named.id) is not None
    if named is None or not (owned or (named.any_model and catalog.find(typed, provider) is None)):
        return ModelMatch(typed)
    if provider and (requested := providers.get(provider)) and requested.id != named.id:
        return ModelMatch(typed)  # a gateway's id
    return ModelMatch(model, named.id)


def _by_part(typed: str, catalog: Catalog, provider: str, usable: Callable[[str], bool]) -> ModelMatch | None:
    """``opus46`` is the one model whose id contains these letters and digits in order.
    Models of providers with a credential are preferred."""
    part = _bare(typed)
    if len(part) < _SHORTEST_PART:
        return None
    row = catalog.providers().get(provider)
    if row is not None and row.any_model:
        return None  # it may have a model of this name
    owner = row.rows_of or row.id if row is not None else ""
    rows = [model for model in catalog.rows() if owner in ("", model.provider) and _contains(model.id, part)]
    is_usable = {name: usable(name) for name in {model.provider for model in rows}}
    rows = [model for model in rows if is_usable[model.provider]] or rows
    if not rows:
        return None
    ids = list(dict.fromkeys(model.id for model in rows))
    if len(ids) > 1:
        raise UsageError(f'model "{typed}" is ambiguous: {_listed(ids)}; type more of its id')
    return ModelMatch(ids[0], "", f"model: {ids[0]} ({typed})")


def version_key(id: str) -> tuple[int, int, str]:
    """The version and date in a model's id, for sorting by age.

    >>> version_key("claude-sonnet-4-6"), version_key("claude-3-7-sonnet-20250219"), version_key("llama-3.3-70b")
    ((4, 6, ''), (3, 7, '20250219'), (3, 3, ''))
    """
    date = _DATE.search(id)
    numbers = [int(number) for number in _NUMBER.findall(_DATE.sub("", id.lower()) if date else id.lower())]
    major, minor = (*numbers, 0, 0)[:2]
    return major, minor, date[0] if date else ""


def newest_match(typed: str, models: Iterable[Model]) -> Model | None:
    """The newest of the models that contain ``typed``; None if they differ in more than the version."""
    part = _bare(typed)
    found = [model for model in models if _contains(model.id, part)] if len(part) >= _SHORTEST_PART else []
    families = {(model.provider, frozenset(re.findall(r"[a-z]{2,}", model.id.lower()))) for model in found}
    return max(found, key=lambda model: version_key(model.id)) if len(families) == 1 else None


def suggestion_text(typed: str, rows: Iterable[Model]) -> str:
    """The end of an error about an unknown model: up to three similar ids."""
    near = closest(typed, (row.id for row in rows), count=_NAMED)
    return f", did you mean {_listed(near)}" if near else ""


def _listed(ids: list[str]) -> str:
    shown = [*ids[:_NAMED], *(["…"] if len(ids) > _NAMED else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}".replace(" or …", ", …")


def _contains(model_id: str, part: str) -> bool:
    """True if ``part`` is in the letters and digits of the id, from the beginning of a word of it."""
    bare = _bare(model_id)
    at = bare.find(part)
    while at >= 0:
        if at in _word_starts(model_id):
            return True
        at = bare.find(part, at + 1)
    return False


def _word_starts(model_id: str) -> set[int]:
    """Where words and numbers of an id begin, counted in its letters and digits."""
    starts: set[int] = set()
    place = 0
    for word in re.findall(r"[a-z]+|\d+|[^\W\da-z_]+", model_id.lower()):
        starts.add(place)
        place += len(word)
    return starts


def _bare(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())

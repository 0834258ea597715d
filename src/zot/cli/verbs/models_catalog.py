"""``zot models --json``, ``show``, ``price`` and ``update``: everything that reads the whole catalog or changes it."""

from __future__ import annotations

import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.agent.settings import Settings
from zot.cli.arguments import ParsedArguments, parse
from zot.cli.list_models import listed_catalog, usable_providers
from zot.cli.output import print_notice, print_result, read_answer
from zot.cli.verb_table import options
from zot.cli.verbs.models import print_table
from zot.errors import ConfigError, UsageError, ZotError
from zot.provider.catalog import CATALOG_FILE, MODELS_FILE, Catalog, builtin_rows
from zot.provider.model import Model
from zot.provider.model_facts import reasoning_text, table_row
from zot.system.files import write_atomic, zot_home
from zot.system.safe_open import TooLarge, read_whole


def run_verb(verb: str, argv: list[str]) -> int:
    command, least, most, what = _VERBS[verb]
    path = "models" if verb == "models" else f"models {verb}"
    return command(parse(argv, options(path), least=least, most=most, what=what))


# -- list -----------------------------------------------------------------------------------------------------------


def _list(arguments: ParsedArguments) -> int:
    home = zot_home()
    catalog = listed_catalog(home)
    rows = catalog.rows()
    if arguments.has("--usable"):
        usable = usable_providers(catalog, home)
        rows = [row for row in rows if row.provider in usable]
    if arguments.has("--json"):
        words = [word.lower() for word in arguments.words]
        rows = [row for row in rows if all(word in f"{row.provider}/{row.id} {row.name}".lower() for word in words)]
        code = 0 if rows else 1
        _write({"format": 1, "models": [_json(row) for row in rows]})
    else:
        code = print_table([table_row(row) for row in rows], arguments.words)
    for problem in catalog.problems:
        print_notice(f"zot: {problem}")
    return code


def _json(row: Model) -> dict[str, Any]:
    """Known facts only, as in ``catalog.json``."""
    blank = Model(id="", provider="")
    facts = msgspec.to_builtins(row)
    return {name: value for name, value in facts.items() if getattr(row, name) != getattr(blank, name)}


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


# -- show -----------------------------------------------------------------------------------------------------------


def _show(arguments: ParsedArguments) -> int:
    catalog = listed_catalog(zot_home())
    rows = _rows_of(catalog, arguments.words[0])
    if arguments.has("--json"):
        _write(_json(rows[0]))
        return 0
    for label, value in _facts(rows[0]):
        print_result(f"{label:<18} {value}")
    if others := [row.provider for row in rows[1:]]:
        print_result(f"{'also at':<18} {', '.join(dict.fromkeys(others))}")
    return 0


def _rows_of(catalog: Catalog, typed: str) -> list[Model]:
    """The model at each provider that has it; a newer one of a known family with guessed facts. UsageError else."""
    from zot.agent.model_lookup import match_model, suggestion_text

    provider, _, rest = typed.partition("/")
    if provider in catalog.providers() and (row := catalog.find(rest, provider)) is not None:
        return [row]
    if rows := catalog.named(typed):
        return rows
    found = match_model(typed, catalog, Settings(zot_home()).values.model_names)
    if found.model != typed and (rows := catalog.named(found.model)):
        return rows
    from zot.provider.families import home_of, unlisted_model

    if (home := catalog.providers().get(home_of(typed)[0])) and (row := unlisted_model(typed, home, builtin_rows)):
        return [row]
    raise UsageError(f'unknown model "{typed}"{suggestion_text(typed, catalog.rows())}')


def _facts(row: Model) -> list[tuple[str, str]]:
    price = row.price_input, row.price_output, row.price_cache_read, row.price_cache_write
    words = ("input", "output", "cached input", "cache writes")
    prices = [f"{value:g} {word}" for value, word in zip(price, words, strict=True) if value]
    facts = [
        ("model", row.id),
        ("provider", row.provider),
        ("name", row.name),
        ("window", f"{row.context_window:,} tokens"),
        ("longest answer", f"{row.max_output:,} tokens"),
        ("price, USD/M", "free" if row.free else ", ".join(prices) or "unknown"),
    ]
    tier = row.long_prompt
    while tier is not None:
        facts.append((f"above {tier.above:,}", f"{tier.price_input:g} input, {tier.price_output:g} output"))
        tier = tier.longer
    if row.batch is not None:
        facts.append(("batch", f"{row.batch.price_input:g} input, {row.batch.price_output:g} output"))
    facts += [
        ("reads", ", ".join(row.input)),
        ("reasoning", reasoning_text(row) or "unknown"),
        ("tool calls", _known(row.tools)),
        ("parallel calls", _known(row.parallel_calls)),
        ("strict tools", _known(row.strict_tools)),
        ("JSON schema", _known(row.structured_output)),
        ("knows until", row.cutoff or "unknown"),
    ]
    if row.retires:
        passed = row.retires < date.today().isoformat()
        successor = f", replaced by {row.successor}" if row.successor else ""
        facts.append(("retired" if passed else "retires", row.retires + successor))
    if row.guessed:
        facts.append(("guessed from", row.guessed))
    return [*facts, ("source", "live" if row.source == "cache" else row.source)]


def _known(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


# -- price ----------------------------------------------------------------------------------------------------------


def _price(arguments: ParsedArguments) -> int:
    """Write the price of a model into ``models.json``."""
    typed, *amounts = arguments.words
    if len(amounts) != 2:
        raise UsageError("expected MODEL INPUT OUTPUT, in USD per million tokens")
    prices = {"priceInput": _amount(amounts[0]), "priceOutput": _amount(amounts[1])}
    for switch, key in (("--cached", "priceCacheRead"), ("--written", "priceCacheWrite")):
        if (value := arguments.values.get(switch)) is not None:
            prices[key] = _amount(value)
    home = zot_home()
    provider, model = _priced_model(Catalog(home), typed, arguments.values.get("--provider", ""))
    _save_price(home / MODELS_FILE, provider, model, prices)
    what = "free" if not any(prices.values()) else f"${amounts[0]} input, ${amounts[1]} output per million tokens"
    print_result(f"{provider}/{model}: {what}, in {home / MODELS_FILE}")
    return 0


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise UsageError(f'price "{text}": expected USD per million tokens, 0 if free')
    return value


def _priced_model(catalog: Catalog, typed: str, provider: str) -> tuple[str, str]:
    """Provider and id of the model; UsageError if the provider is unknown."""
    from zot.provider.families import home_of
    from zot.provider.providers import canonical_id

    providers = catalog.providers()
    if provider:
        if (owner := canonical_id(provider, providers)) not in providers:
            raise UsageError(f'unknown provider "{provider}"; known providers: {", ".join(providers)}')
        return providers[owner].rows_of or owner, typed
    name, slash, rest = typed.partition("/")
    owner = canonical_id(name, providers) if slash else ""
    if owner in providers and (catalog.find(rest, owner) is not None or catalog.find(typed) is None):
        return providers[owner].rows_of or owner, rest
    if (row := catalog.find(typed)) is not None:
        return row.provider, typed
    if home := home_of(typed)[0]:
        return home, typed
    raise UsageError(f'unknown model "{typed}"; name its provider with --provider')


def _save_price(path: Path, provider: str, model: str, prices: dict[str, float]) -> None:
    from zot.system.json_store import JsonObjectStore

    with JsonObjectStore(path, "fix it, then set the price again").edit() as content:
        _entry_to_edit(content, path, provider, model).update(prices)


def _entry_to_edit(content: dict[str, Any], path: Path, provider: str, model: str) -> dict[str, Any]:
    """The entry of a model in ``models.json``, added if it is missing; ConfigError for another shape."""
    place = content
    for key in ("providers", provider):
        inner: object = place.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(f'{path}: "{key}": expected an object; fix it, then set the price again')
        place = cast("dict[str, Any]", inner)
    rows: object = place.setdefault("models", [])
    if not isinstance(rows, list):
        raise ConfigError(f'{path}: "models" of {provider}: expected a list; fix it, then set the price again')
    for row in cast("list[Any]", rows):
        if isinstance(row, dict) and cast("dict[str, Any]", row).get("id") == model:
            return cast("dict[str, Any]", row)
    entry: dict[str, Any] = {"id": model}
    cast("list[Any]", rows).append(entry)
    return entry


# -- update ---------------------------------------------------------------------------------------------------------


def _update(arguments: ParsedArguments) -> int:
    """Store a newer catalog, pinned by its hash or confirmed by the user."""
    from zot.provider.catalog_file import checked_rows, fingerprint

    home = zot_home()
    source = arguments.values.get("--from") or Settings(home).values.catalog_url
    if not source:
        raise UsageError("pass --from FILE or --from https://…, or set catalog_url in config.json")
    data = _content(source, home)
    expected, found = arguments.values.get("--sha256", "").lower(), fingerprint(data)
    if expected and expected != found:
        raise ZotError(f"{source}: sha256 is {found}, not {expected}; nothing was changed")
    rows = checked_rows(data, source)
    print_result(f"{source}: {_changes(Catalog(home), rows)}")
    print_result(f"sha256 {found}")
    if not expected and not arguments.has("--yes"):
        if not sys.stdin.isatty():
            raise UsageError(f"cannot ask for confirmation here; pass --sha256 {found}, or --yes")
        if read_answer("Use these models and prices? [y/N]").lower() not in ("y", "yes"):
            print_notice("nothing was changed")
            return 1
    write_atomic(home / CATALOG_FILE, data)
    print_result(f"stored in {home / CATALOG_FILE}")
    return 0


def _content(source: str, home: Path) -> bytes:
    from zot.provider.catalog_file import LARGEST, download_catalog

    if "://" not in source:
        path = os.path.expanduser(source)
        try:
            return read_whole(path, LARGEST)
        except TooLarge as error:
            raise ConfigError(f"{path}: larger than {LARGEST >> 20} MiB, which no catalog is") from error
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error
    from zot.frontends.console import run_loop
    from zot.provider.http.pool import HttpPool

    async def download() -> bytes:
        pool = HttpPool(proxy=Settings(home).values.http_proxy)
        try:
            return await download_catalog(pool, source)
        finally:
            await pool.aclose()

    return run_loop(download())


def _changes(catalog: Catalog, rows: list[Model]) -> str:
    before = {(row.provider, row.id): row for row in catalog.rows()}
    known = [(row, old) for row in rows if (old := before.get((row.provider, row.id))) is not None]
    prices = ("price_input", "price_output", "price_cache_read", "price_cache_write", "long_prompt")
    changed = sum(any(getattr(row, name) != getattr(old, name) for name in prices) for row, old in known)
    return f"{len(rows)} models, {len(rows) - len(known)} of them new, {changed} with another price"


_VERBS = {
    "models": (_list, 0, None, ""),
    "show": (_show, 1, 1, "MODEL"),
    "price": (_price, 1, 3, "MODEL"),
    "update": (_update, 0, 0, ""),
}

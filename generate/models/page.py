"""The reference page of models, from the rows that ship with zot."""

from __future__ import annotations

from zot.provider.catalog import builtin_rows
from zot.provider.model import Model
from zot.provider.providers import builtin_providers

_HEAD = """\
# Models

<!-- Generated from src/zot/provider/models/ by `make generate`; do not edit. -->

The {count} models that zot knows, with window, price and reasoning. Use it to compare models; `zot models` prints the
same offline, with your own models and those that your providers list.

```sh
zot models opus                      # search
zot models show claude-sonnet-5-5    # every fact of one model
zot models price my-model 0.5 2      # set a price zot does not know
```

A model that is not in the table works also: zot uses the limits and the reasoning of the newest model of its family
(`claude-*`, `gpt-*`, `gemini-*`, `kimi-*`, `glm-*`, `grok-*`, `deepseek-*`, `qwen*`, `mistral-*` and others), reports
it in one line, and marks it "guessed". Its price is unknown until you set it.

## Columns

| column | meaning |
|---|---|
| window, output | tokens of prompt and answer, and of the answer alone |
| reasoning | *effort* and *adaptive* with their levels, *budget* in tokens, *switch*: only on or off |
| input, output, cached, written | USD per million tokens; *cached* and *written*: of the prompt cache |
| above | the prices of longer prompts: threshold, input and output |
| batch | input and output prices of the vendor's batch interface, which zot does not use |
| notes | modalities beside text and images, last month of its knowledge, date of its retirement and its successor |

An empty cell means that the sources do not know.

## Sources

`make models` reads the npm package `@earendil-works/pi-ai` and the Python packages `litellm` and `anthropic`, and
merges `generate/models/overlay.json`. Their notices are in `src/zot/provider/models/NOTICE.txt`.
`zot models update` adds a newer catalogue of your own (`zot docs models`).
"""

_TABLE = """
| model | window | output | reasoning | input | output | cached | written | above | batch | notes |
|---|--:|--:|---|--:|--:|--:|--:|---|---|---|
"""


def page() -> str:
    rows = builtin_rows()
    parts = [_HEAD.format(count=f"{len(rows):,}")]
    for provider in builtin_providers().values():
        mine = [row for row in rows if row.provider == provider.id]
        if mine:
            shared = [other.id for other in builtin_providers().values() if other.rows_of == provider.id]
            also = f" Also used by {_listed(shared)}." if shared else ""
            default = f" The default is `{provider.default_model}`." if provider.default_model else ""
            intro = f"{len(mine)} models.{default}{also}"
            parts.append(f"\n## {provider.name} (`{provider.id}`)\n\n{intro}\n{_TABLE}" + "".join(map(_line, mine)))
    return "".join(parts)


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join((", ".join(quoted[:-1]), quoted[-1])) if len(quoted) > 1 else quoted[0]


def _line(row: Model) -> str:
    prices = [row.price_input, row.price_output, row.price_cache_read, row.price_cache_write]
    cells = [
        f"`{row.id}`",
        _tokens(row.context_window),
        _tokens(row.max_output),
        reasoning(row),
        *("free" if row.free and place < 2 else _price(price) for place, price in enumerate(prices)),
        _long(row),
        f"{_price(row.batch.price_input)} / {_price(row.batch.price_output)}" if row.batch else "",
        _notes(row),
    ]
    return f"| {' | '.join(cells)} |\n"


def _tokens(count: int) -> str:
    return f"{count:,}" if count else ""


def _price(price: float) -> str:
    return f"{price:g}" if price else ""


def reasoning(row: Model) -> str:
    levels = " ".join(row.reasoning_levels) if row.reasoning_style in ("effort", "adaptive") else ""
    always = "always on" if row.can_skip_reasoning is False else ""
    return ": ".join(part for part in (row.reasoning_style, ", ".join(filter(None, (levels, always)))) if part)


def _long(row: Model) -> str:
    found: list[str] = []
    tier = row.long_prompt
    while tier is not None:
        found.append(f"{tier.above:,}: {_price(tier.price_input)} / {_price(tier.price_output)}")
        tier = tier.longer
    return ", ".join(found)


def _notes(row: Model) -> str:
    others = [kind for kind in row.input if kind not in ("text", "image")]
    notes = ["no images"] if "image" not in row.input else []
    notes += [" and ".join(others)] if others else []
    notes += [f"knows until {row.cutoff}"] if row.cutoff else []
    if row.retires:
        notes.append(f"retires {row.retires}" + (f", then `{row.successor}`" if row.successor else ""))
    return "; ".join(notes)

"""The reference page of models, from the rows that ship with zot."""

from __future__ import annotations

from zot.provider.catalog import builtin_rows
from zot.provider.model import Model
from zot.provider.model_facts import price_text, reasoning_text, table_row
from zot.provider.providers import builtin_providers

_HEAD = """\
# Models

<!-- Generated from src/zot/provider/models/ by `make generate`; do not edit. -->

The {count} models that zot knows, with window, price and reasoning. Use it to compare models; `zot models` prints the
same offline, with your own models and those that your providers list.

```sh
zot models opus                      # search
zot models show claude-sonnet-5-5    # every fact of one model
zot models price gpt-7-sol 2 10      # set a price zot does not know
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

## Use a newer catalogue

```sh
zot models update --from models.json --sha256 9f86d081…
```

zot checks the whole file, shows its sha256 and what changes, and asks; with `--sha256` it accepts only that file. It is
stored as `catalog.json` in zot's home, and its rows replace those of the same model. Without `catalog_url` in
`config.json`, zot never downloads a catalogue unless you run this command.

```json
{{"format": 1, "models": [{{"id": "gpt-7-sol", "provider": "openai", "context_window": 2000000, "price_input": 2}}]}}
```

`zot models --json` prints this format. `id` and `provider` are required; a missing fact is unknown:

| key | value |
|---|---|
| `id`, `provider`, `name` | texts |
| `context_window`, `max_output` | tokens |
| `price_input`, `price_output`, `price_cache_read`, `price_cache_write` | USD per million tokens |
| `free` | true if it costs nothing |
| `long_prompt` | prices of longer prompts: the four prices, `above` in tokens, and `longer` for a further tier |
| `batch` | the four prices in the vendor's batch interface |
| `input` | list of `text`, `image`, `pdf`, `audio` |
| `reasoning` | true if it reasons |
| `reasoning_style` | `none`, `effort`, `budget`, `adaptive` or `switch` |
| `reasoning_levels` | zot's levels (`off` to `max`) to the vendor's words or numbers of tokens |
| `reasoning_format` | an OpenAI-compatible server's own field for reasoning: `deepseek`, `together`, `zai`, … |
| `can_skip_reasoning` | false if it always reasons |
| `tools`, `parallel_calls`, `strict_tools`, `structured_output`, `temperature` | true or false |
| `cache_ttls` | lifetimes of the prompt cache in seconds |
| `cutoff`, `retires`, `successor` | `YYYY-MM`, `YYYY-MM-DD`, a model id |

A file that is cut, larger than 8 MiB, of a newer format, or that has a model twice or a negative number is refused in
one line. zot ignores unknown keys, and never takes an address from a catalogue.

## Sources

`make models` reads the npm package `@earendil-works/pi-ai` and the Python packages `litellm` and `anthropic`, and
merges `generate/models/overlay.json`. Their notices are in `src/zot/provider/models/NOTICE.txt`.
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
        reasoning_text(row),
        *("free" if row.free and place < 2 else price_text(price) for place, price in enumerate(prices)),
        _long(row),
        f"{price_text(row.batch.price_input)} / {price_text(row.batch.price_output)}" if row.batch else "",
        _notes(row),
    ]
    return f"| {' | '.join(cells)} |\n"


def _tokens(count: int) -> str:
    return f"{count:,}" if count else ""


def _long(row: Model) -> str:
    found: list[str] = []
    tier = row.long_prompt
    while tier is not None:
        found.append(f"{tier.above:,}: {price_text(tier.price_input)} / {price_text(tier.price_output)}")
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


def index() -> str:
    """The table of ``zot models``, so that it need not decode the rows."""
    return "".join("\t".join(table_row(row)) + "\n" for row in builtin_rows())

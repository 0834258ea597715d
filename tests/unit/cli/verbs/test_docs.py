"""``zot docs``: from the checkout, and from a wheel unpacked far away from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from zot.cli.verbs import docs
from zot.frontends import docs_index

ROOT = Path(__file__).parents[4]


def test_without_a_topic_the_index_is_printed(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """iface-315: `zot docs` prints the index."""
    assert docs.run([]) == 0
    assert capfdbinary.readouterr() == (docs_index.index_path().read_bytes(), b"")


def test_each_topic_prints_its_page(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """iface-315: `zot docs TOPIC` prints that page, byte for byte."""
    assert len(docs_index.pages()) >= 5
    for page in docs_index.pages():
        assert docs.run([page.topic]) == 0
        assert capfdbinary.readouterr() == ((docs_index.root() / page.file).read_bytes(), b"")


def test_a_topic_may_be_named_by_its_file_and_in_capitals(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for name in ("guides/skills.md", "SKILLS"):
        assert docs.run([name]) == 0
        assert capfdbinary.readouterr().out.startswith(b"# Skills")


def test_an_unknown_topic_is_an_error_that_names_the_topics(capfd: pytest.CaptureFixture[str]) -> None:
    """iface-315: an unknown topic exits 1, prints nothing on stdout and names the topics there are."""
    assert docs.run(["sklls"]) == 1
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("zot: ") and "'sklls'" in err
    assert all(page.topic in err for page in docs_index.pages())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as users get it, built offline and unpacked."""
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (archive,) = built.glob("*.whl")
    with zipfile.ZipFile(archive) as file:
        file.extractall(built / "site")
    return built / "site"


def from_wheel(wheel: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Runs code against the unpacked wheel, in an empty directory; -S excludes the checkout."""
    import msgspec

    places = [str(wheel), str(Path(msgspec.__file__).parents[1])]
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {places!r}; {code}"]
    return subprocess.run(command, cwd=wheel.parent, capture_output=True, text=True, timeout=60)


def test_wheel_contains_and_prints_every_page(wheel: Path) -> None:
    """engine-255: from an installed wheel, outside the repository, every page is printed."""
    for topic, file in [("", "index.md"), *((page.topic, page.file) for page in docs_index.pages())]:
        arguments = [topic] if topic else []
        run = from_wheel(wheel, f"from zot.cli.verbs.docs import run; sys.exit(run({arguments!r}))")
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout == (docs_index.root() / file).read_text("utf-8")


def test_wheel_index_is_complete_and_inside_package(wheel: Path) -> None:
    """engine-255, engine-256: the wheel's own index is complete and lies inside the package."""
    run = from_wheel(
        wheel, "from zot.frontends import docs_index; print(docs_index.index_path(), docs_index.check_index())"
    )
    assert run.stdout == f"{wheel / 'zot/docs/index.md'} []\n"


def test_unknown_topic_fails_from_wheel(wheel: Path) -> None:
    """iface-315: an unknown topic fails from the wheel as it does from the source tree."""
    run = from_wheel(wheel, "from zot.cli.verbs.docs import run; sys.exit(run(['nothing']))")
    assert run.returncode == 1 and "first-steps" in run.stderr


def test_wheel_contains_the_builtin_skills(wheel: Path) -> None:
    """engine-231: the built-in skills are found in an installed wheel."""
    code = (
        "from pathlib import Path; from zot.features.skills.discovery import discover; "
        "here = Path('.').absolute(); print(*(s.name for s in discover(here, here, here).all if s.body()))"
    )
    run = from_wheel(wheel, code)
    assert run.stdout.split() == ["write-zot-extension", "write-zot-themes"], run.stderr


def test_first_steps_scripted_example_runs(tmp_path: Path) -> None:
    page = (docs_index.root() / "guides/first-steps.md").read_text("utf-8")
    example = re.search(r"```sh\n(cat > answers\.json .*?)```", page, re.DOTALL)
    assert example is not None
    zot = f'#!/bin/sh\nexec {sys.executable} -m zot "$@" </dev/null\n'
    (tmp_path / "zot").write_text(zot)
    (tmp_path / "zot").chmod(0o755)
    environment = {**os.environ, "ZOT_HOME": str(tmp_path / "home"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["sh", "-c", example[1]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout) == (0, "That is what is here.\n"), run.stderr

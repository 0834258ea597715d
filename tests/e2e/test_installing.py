"""zot built, installed into its own environment on every available Python, and used there."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.model_server import FakeModelServer, Say
from tests.pythons import ROOT, WHEELS, fetch, pythons
from zot import __version__
from zot.system.installation import DISTRIBUTION

PYTHONS = pythons()
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def run(command: list[str], **options: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """``sdist``, the ``wheel`` of the checkout, and ``from_sdist``: the wheel pip makes of the sdist."""
    place = tmp_path_factory.mktemp("built")
    run([sys.executable, "-m", "build", "--sdist", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)])
    (sdist,), (wheel,) = place.glob("*.tar.gz"), place.glob("*.whl")
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]
    run([*PIP, "wheel", "--quiet", *offline, "--wheel-dir", str(place / "again"), str(sdist)])
    (from_sdist,) = (place / "again").glob("*.whl")
    return {"sdist": sdist, "wheel": wheel, "from_sdist": from_sdist}


class Installed(Zot):
    """Runs the command of one environment, as it lies there."""

    environment_path: Path

    def argv(self, args: object) -> list[str]:
        return [str(self.environment_path / "bin/zot"), *args]  # type: ignore[misc]


def install(package: Path, version: str, place: Path) -> Installed:
    if not fetch(version) and version != HERE:
        pytest.skip(f"the dependencies for Python {version} cannot be fetched")
    run([PYTHONS[version], "-m", "venv", "--without-pip", str(place / "env")])
    offline = ["--no-compile", "--no-index", "--find-links", str(WHEELS)]
    run([*PIP, "--python", str(place / "env"), "install", *offline, str(package)])
    for name in ("home", "project"):
        (place / name).mkdir()
    installed = Installed(place / "home", place / "project")
    installed.environment_path = place / "env"
    return installed


def answers(zot: Installed) -> Ran:
    with FakeModelServer([Say("it works")]) as server:
        zot.url = server.url
        ran = zot("-p", "hello")
        zot.url = ""
    return ran


def is_contributor_page(path: str) -> bool:
    """READMEs of packages are for contributors; those of the starters are for users."""
    return path.endswith("/README.md") and "/starters/" not in path


def test_the_sdist_and_the_checkout_make_the_same_wheel(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as one, zipfile.ZipFile(built["from_sdist"]) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        records = {name for name in one.namelist() if name.endswith("RECORD")}
        assert [name for name in one.namelist() if name not in records and one.read(name) != other.read(name)] == []
        names = set(one.namelist())
    tracked = subprocess.run(["git", "ls-files", "src/zot"], cwd=ROOT, capture_output=True, text=True, check=True)
    shipped = {path.removeprefix("src/") for path in tracked.stdout.split() if not is_contributor_page(path)}
    assert shipped - names == set()
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]


def test_sdist_contains_files_packagers_need(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
        assert not [member.name for member in archive.getmembers() if member.issym() or member.islnk()]
    assert {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "pyproject.toml"} <= names
    assert {"src/zot/ext/extension.py", "sdks/go/go.mod", "sdks/typescript/src/index.ts", "docs/index.md"} <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/", ".cache/", ".venv/"))]


def test_wheel_contains_every_page_and_no_picture(built: dict[str, Path]) -> None:
    pages = {
        str(path.relative_to(ROOT)) for end in ("md", "json", "jsonl") for path in (ROOT / "docs").rglob(f"*.{end}")
    }
    with zipfile.ZipFile(built["wheel"]) as wheel:
        inside = {name.removeprefix("zot/") for name in wheel.namelist() if name.startswith("zot/docs/")}
    assert inside == pages


def test_metadata_names_only_the_authors(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(wheel.read(name))
    assert (metadata["Name"], metadata["Version"]) == (DISTRIBUTION, __version__)
    assert metadata["License-Expression"] == "MIT" and metadata["Author"]
    urls = {line.split(",")[0] for line in metadata.get_all("Project-URL", [])}
    assert urls >= {"Homepage", "Documentation", "Changelog", "Issues"}
    classifiers = metadata.get_all("Classifier", [])
    assert {f"Programming Language :: Python :: {version}" for version in PYTHONS} <= set(classifiers)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"] == {"zot": "zot.__main__:main"}


def test_long_description_has_only_absolute_links(built: dict[str, Path]) -> None:
    """issue 29.22: links and pictures work on a package index, which has no files of the repository."""
    with zipfile.ZipFile(built["wheel"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        text = wheel.read(name).decode()
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 10 and [link for link in links if not link.startswith("https://")] == []


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("package", ["wheel", "from_sdist"])
def test_an_installed_zot_answers(built: dict[str, Path], tmp_path: Path, package: str, version: str) -> None:
    zot = install(built[package], version, tmp_path)
    assert zot("--version").out == f"zot {__version__}\n"
    ran = answers(zot)
    assert (ran.code, ran.out, ran.err) == (0, "it works\n", "")
    doctor = zot("doctor")
    assert doctor.code == 0 and f"Python {version}." in doctor.out
    assert str(zot.environment_path) in doctor.out, "it runs from the environment, not from the checkout"
    for name in ("man/man1/zot.1", "bash-completion/completions/zot", "zsh/site-functions/_zot"):
        assert (zot.environment_path / "share" / name).is_file()


def test_installed_wheel_supports_ext_new_and_check(built: dict[str, Path], tmp_path: Path) -> None:
    """Uninstalling with pip removes every file."""
    zot = install(built["wheel"], HERE, tmp_path)
    assert zot("ext", "new", "notes", "--lang", "python").code == 0
    checked = zot("ext", "check", "notes")
    assert checked.code == 0, checked.out
    assert zot("docs", "first-steps").out == (ROOT / "docs/guides/first-steps.md").read_text()
    update = zot("update")
    assert update.code == 0 and f"{zot.environment_path}/bin/python" in update.out
    assert f"-m pip install --upgrade {DISTRIBUTION}\n" in update.out
    run([*PIP, "--python", str(zot.environment_path), "uninstall", "--yes", DISTRIBUTION])
    assert [path for path in zot.environment_path.rglob("*") if "zot" in path.name and not path.is_dir()] == []

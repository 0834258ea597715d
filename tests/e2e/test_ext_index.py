"""``zot ext index``, ``search``, ``install NAME`` and ``update`` from an index: real files, git and an https server."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.e2e.conftest import Ran, Zot
from tests.e2e.extension_places import extension, left
from tests.e2e.test_ext_install import git
from tests.e2e.test_ext_update import commit, rewrite
from tests.fakes.http_server import CERTIFICATE
from tests.fakes.web import FakeWeb

USES = ["ui", "dialogs"]


class Signer:
    def __init__(self) -> None:
        self._secret = Ed25519PrivateKey.generate()
        self.key = base64.b64encode(self._secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def sign(self, path: Path) -> None:
        signature = base64.b64encode(self._secret.sign(path.read_bytes())).decode()
        Path(f"{path}.sig").write_text(signature + "\n")


@pytest.fixture
def shop(zot: Zot, tmp_path: Path) -> Path:
    """A directory with one extension ``weather`` 1.0.0 and its index."""
    directory = tmp_path / "shop"
    extension(directory / "weather", version="1.0.0", uses=USES, description="Tells the weather of a town.")
    built(zot, directory)
    return directory


def built(zot: Zot, directory: Path, *flags: str) -> Path:
    ran = zot("ext", "index", "build", str(directory), *flags)
    assert ran.code == 0, ran
    return directory / "index.json"


def change(directory: Path, **fields: Any) -> dict[str, Any]:
    """The index with other fields; those of ``version`` go into the first version."""
    path = directory / "index.json"
    index = json.loads(path.read_text())
    version = fields.pop("version", {})
    index |= fields
    index["extensions"][0]["versions"][0] |= version
    path.write_text(json.dumps(index))
    return index


def add(zot: Zot, place: Path | str, *flags: str) -> Ran:
    return zot("ext", "index", "add", str(place), *flags)


def tree(directory: Path) -> str:
    """The hash of the specification, written again for the test."""
    lines = [
        b"%s\0%s\0%s\n"
        % (
            path.relative_to(directory).as_posix().encode(),
            b"x" if path.stat().st_mode & 0o100 else b"-",
            hashlib.sha256(path.read_bytes()).hexdigest().encode(),
        )
        for path in directory.rglob("*")
        if path.is_file() and ".git" not in path.parts
    ]
    return "sha256:" + hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def own(zot: Zot, name: str = "weather") -> Path:
    return zot.home / "zot" / "extensions" / name


# --- search, install, update


def test_nothing_is_built_in(zot: Zot) -> None:
    """ext2-173: without an index names are refused with the way to add one, and nothing is fetched."""
    for args in (("ext", "search", "weather"), ("ext", "install", "weather")):
        ran = zot(*args)
        assert ran.code == 1 and "zot ext index add URL" in ran.err and not ran.out
    assert left(zot) == []


def test_search_shows_version_words_and_index(zot: Zot, shop: Path) -> None:
    """ext2-173: matches with version, words of `uses` and index; nothing is fetched again."""
    assert add(zot, shop / "index.json").code == 0
    (shop / "index.json").unlink()
    ran = zot("ext", "search", "town", "WEATHER")
    assert ran.code == 0
    assert ran.out == "weather 1.0.0  Tells the weather of a town.\n  uses: ui dialogs; index: shop\n"
    assert zot("ext", "search", "nothing").code == 1
    assert zot("ext", "search").out == ran.out


def test_install_by_name_pins_and_shows(zot: Zot, shop: Path) -> None:
    """ext2-173, ext2-175, ext2-176: words are shown before the download; files are pinned; the hash fits."""
    add(zot, shop / "index.json")
    ran = zot("ext", "install", "weather")
    assert ran.code == 0, ran
    assert ran.err.index("asks you questions") < ran.err.index("reading ") < ran.err.index("installed weather 1.0.0")
    assert left(zot) == ["weather"]
    index = json.loads((shop / "index.json").read_text())
    (version,) = index["extensions"][0]["versions"]
    assert version["tree"] == tree(shop / "weather")
    lock = json.loads((zot.home / "zot" / "ext-lock.json").read_text())["extensions"]["weather"]
    assert set(lock["pins"][0]) == {"extension.json", "main.py"} and lock["uses"] == USES
    assert "already exists" in zot("ext", "install", "weather").err


def test_indexes_are_asked_in_their_order(zot: Zot, shop: Path, tmp_path: Path) -> None:
    """ext2-173: the first index that has the name is used; `NAME@VERSION` names a version."""
    other = tmp_path / "other"
    extension(other / "weather", version="9.0.0")
    built(zot, other)
    add(zot, shop / "index.json")
    add(zot, other / "index.json")
    assert "weather 1.0.0 from shop" in zot("ext", "install", "weather").err
    ran = zot("ext", "install", "--force", "weather@9.0.0")
    assert ran.code == 1 and "weather has no version 9.0.0; there are: 1.0.0" in ran.err
    zot("ext", "index", "remove", "shop")
    assert "weather 9.0.0 from other" in zot("ext", "install", "--force", "weather@9.0.0").err


def test_update_takes_the_newest_that_fits(zot: Zot, shop: Path) -> None:
    """ext2-172: the newest version whose `zot` range fits; data and settings stay; yanked ones are passed over."""
    add(zot, shop / "index.json")
    assert zot("ext", "install", "weather").code == 0
    assert "up to date" in zot("ext", "update", "weather").err
    (own(zot) / "notes.txt").write_text("mine")
    for number in ("1.2.0", "2.0.0", "1.10.0"):
        rewrite(shop / "weather", version=number)
        built(zot, shop, *(("--zot", ">=99") if number == "2.0.0" else ()))
    index = json.loads((shop / "index.json").read_text())
    assert [each["version"] for each in index["extensions"][0]["versions"]] == ["2.0.0", "1.10.0", "1.2.0", "1.0.0"]
    index["extensions"][0]["versions"][1]["yanked"] = "broken on Mondays"
    (shop / "index.json").write_text(json.dumps(index))
    ran = zot("ext", "update", "--dry-run", "weather")
    assert "1.0.0 → 1.2.0" in ran.err and json.loads((own(zot) / "extension.json").read_text())["version"] == "1.0.0"
    assert zot("ext", "update").code == 0
    assert json.loads((own(zot) / "extension.json").read_text())["version"] == "1.2.0"
    assert (own(zot) / "notes.txt").read_text() == "mine"
    ran = zot("ext", "install", "--force", "weather@2.0.0")
    assert ran.code == 0  # by hand and with --force
    assert "up to date" in zot("ext", "update").err


def test_yanked_and_unfitting_versions_need_force(zot: Zot, shop: Path) -> None:
    """ext2-174: `yanked` has the reason, `zot` the versions of zot."""
    change(shop, version={"yanked": "it eats files"})
    add(zot, shop / "index.json")
    assert "no version fits" in zot("ext", "install", "weather").err
    ran = zot("ext", "install", "weather@1.0.0")
    assert ran.code == 1 and "was withdrawn: it eats files" in ran.err and left(zot) == []
    change(shop, version={"yanked": "", "zot": ">=99"})
    zot("ext", "index", "refresh")
    assert "needs zot >=99" in zot("ext", "install", "weather@1.0.0").err


def test_wider_words_after_update_are_asked(zot: Zot, shop: Path) -> None:
    """ext2-172: more words than granted need an answer or --force; fewer never."""
    add(zot, shop / "index.json")
    zot("ext", "install", "weather")
    rewrite(shop / "weather", version="1.1.0", uses=[*USES, "model.call"])
    built(zot, shop)
    ran = zot("ext", "update", "weather")
    assert ran.code == 1 and "spends your money on model calls" in ran.err
    assert json.loads((own(zot) / "extension.json").read_text())["version"] == "1.0.0"
    assert zot("ext", "update", "--force", "weather").code == 0
    rewrite(shop / "weather", version="1.2.0", uses=["ui"])
    built(zot, shop)
    assert zot("ext", "update", "weather").code == 0


def test_guard_that_stops_being_one_needs_force(zot: Zot, tmp_path: Path) -> None:
    """ext2-172: an update that would drop a guard is refused."""
    shop = tmp_path / "shop"
    extension(shop / "safe", version="1", guard=True)
    add(zot, built(zot, shop))
    assert "is a guard: it may deny calls" in zot("ext", "install", "safe").err
    rewrite(shop / "safe", version="2", guard=False)
    built(zot, shop)
    ran = zot("ext", "update", "safe")
    assert ran.code == 1 and "is no longer a guard" in ran.err


def test_git_source_has_the_same_hash(zot: Zot, shop: Path, tmp_path: Path) -> None:
    """ext2-174, ext2-175: a commit of a repository installs the same tree as the archive."""
    repository = tmp_path / "repository"
    (shop / "weather").rename(repository)
    git("init", "-q", cwd=repository)
    rev = commit(repository)
    change(shop, version={"source": {"git": str(repository), "rev": rev}})
    add(zot, shop / "index.json")
    ran = zot("ext", "install", "weather")
    assert ran.code == 0 and not (own(zot) / ".git").exists(), ran
    (repository / "main.py").write_text("changed")
    later = commit(repository)
    change(shop, version={"source": {"git": str(repository), "rev": later}})
    zot("ext", "index", "refresh")
    ran = zot("ext", "install", "--force", "weather")
    assert ran.code == 1 and "its files are not those of the index" in ran.err


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ({"tree": "sha256:" + "0" * 64}, "its files are not those of the index"),
        ({"uses": ["ui"]}, "it asks you questions"),
        ({"guard": True}, "it is no guard"),
        ({"permissions": {"net": False}}, "is not what the index showed"),
        ({"version": "1.0.1"}, "its version is 1.0.0"),
        ({"source": {"archive": "gone.tar.gz"}}, "no such file"),
    ],
)
def test_other_files_than_promised_leave_nothing(zot: Zot, shop: Path, version: dict[str, Any], reason: str) -> None:
    """ext2-175, ext2-176: a wrong hash or a manifest that asks for more ends the installation; nothing is left."""
    change(shop, version=version)
    add(zot, shop / "index.json")
    ran = zot("ext", "install", "weather")
    assert ran.code == 1 and reason in ran.err, ran
    assert left(zot) == [] and not (zot.home / "zot" / "ext-lock.json").exists()


# --- signatures and dates


def test_signed_index_is_pinned(zot: Zot, shop: Path) -> None:
    """ext2-177: with a pinned key a missing, wrong or foreign signature refuses the refresh; the old copy stays."""
    signer, other, path = Signer(), Signer(), shop / "index.json"
    signer.sign(path)
    assert "not by the pinned key" in add(zot, path, "--key", other.key).err
    assert add(zot, path, "--key", signer.key).code == 0
    assert signer.key in (zot.home / "zot" / "config.json").read_text()
    rewrite(shop / "weather", version="1.1.0")
    built(zot, shop)  # not signed again
    for attempt in ("old signature", "other key", "no signature", "nonsense"):
        if attempt == "other key":
            other.sign(path)
        elif attempt == "no signature":
            Path(f"{path}.sig").unlink()
        elif attempt == "nonsense":
            Path(f"{path}.sig").write_text("%%%")
        ran = zot("ext", "index", "refresh")
        assert ran.code == 1 and "the old copy stays" in ran.err, attempt
        assert "weather 1.0.0" in zot("ext", "search").out
    signer.sign(path)
    assert zot("ext", "index", "refresh").code == 0 and "weather 1.1.0" in zot("ext", "search").out


def test_key_of_the_index_needs_agreement(zot: Zot, shop: Path) -> None:
    """ext2-177: without --key the fingerprint is shown; without a user the key must be named."""
    signer, path = Signer(), shop / "index.json"
    signer.sign(path)
    assert "is signed, but names no key" in add(zot, path).err
    built(zot, shop, "--key", signer.key)
    signer.sign(path)
    ran = add(zot, path)
    assert ran.code == 1 and "is signed by the key" in ran.err and f"--key {signer.key}" in ran.err
    assert "no index was added" in zot("ext", "index", "list").err
    assert add(zot, path, "--key", signer.key).code == 0
    ran = zot("ext", "index", "list")
    assert "shop" in ran.out and "1 extensions" in ran.out and "key " in ran.out


def test_older_index_is_refused(zot: Zot, shop: Path) -> None:
    """ext2-177: `updated` may not go backwards."""
    change(shop, updated="2026-05-01T00:00:00Z")
    add(zot, shop / "index.json")
    change(shop, updated="2026-04-30T23:59:59Z")
    ran = zot("ext", "index", "refresh")
    assert ran.code == 1 and "older than the copy from 2026-05-01T00:00:00Z" in ran.err
    change(shop, updated="2026-05-01T02:00:00+02:00", name="renamed")  # the same moment
    assert zot("ext", "index", "refresh").code == 0 and "renamed" in zot("ext", "index", "list").out


# --- fetching


def test_index_and_archive_over_https(zot: Zot, shop: Path) -> None:
    """ext2-178, ext2-174: a relative archive beside an index at an address; the certificate must be trusted."""
    index, archive = (shop / "index.json").read_bytes(), (shop / "weather-1.0.0.tar.gz").read_bytes()
    answers: dict[str, tuple[int, str | bytes]] = {
        "/a/index.json": (200, index),
        "/a/weather-1.0.0.tar.gz": (302, "/b/moved.tar.gz"),
        "/b/moved.tar.gz": (200, archive),
    }
    with FakeWeb(answers, tls=True) as web:
        ran = add(zot, f"{web.url}/a/index.json")
        assert ran.code == 1 and "certificate" in ran.err
        zot.environment["SSL_CERT_FILE"] = str(CERTIFICATE)
        assert add(zot, f"{web.url}/a/index.json").code == 0
        asked = len(web.asked)
        zot("ext", "search")
        assert len(web.asked) == asked  # nothing is fetched that was not asked for
        ran = zot("ext", "install", "weather")
        assert ran.code == 0, ran
    copies = list((zot.home / "zot" / "ext-indexes").iterdir())
    assert len(copies) == 1 and copies[0].stat().st_mode & 0o077 == 0


def test_other_schemes_and_redirects_are_refused(zot: Zot, shop: Path) -> None:
    """ext2-178: only https or a path; no redirect to another scheme; no local files through a remote index."""
    zot.environment["SSL_CERT_FILE"] = str(CERTIFICATE)
    index = (shop / "index.json").read_text()
    foreign = index.replace('"weather-1.0.0.tar.gz"', '"file:///etc/passwd"')
    with FakeWeb({}) as plain:
        answers = {
            "/down.json": (302, f"{plain.url}/index.json"),
            "/loop.json": (302, "/loop.json"),
            "/foreign.json": (200, foreign),
        }
        with FakeWeb(answers, tls=True) as web:
            assert "expected an https:// address or a path" in add(zot, f"{plain.url}/index.json").err
            assert "which is not https://" in add(zot, f"{web.url}/down.json").err
            assert "more than 5 redirects" in add(zot, f"{web.url}/loop.json").err
            assert "not there (http 404)" in add(zot, f"{web.url}/none.json").err
            assert add(zot, f"{web.url}/foreign.json").code == 0
            assert "may only name https://" in zot("ext", "install", "weather").err
        assert plain.asked == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an index"),
        ("[]", "not an index"),
        ('{"format": 2}', "update zot"),
        ('{"format": 1, "name": "x", "updated": "yesterday", "extensions": []}', "updated: expected a time"),
        ('{"format": 1, "name": "x", "updated": "2026-01-01T00:00:00Z", "extensions": [{"name": "../x"}]}', "invalid"),
        ("[" * 5000, "not an index"),
    ],
)
def test_malformed_index_is_named(zot: Zot, tmp_path: Path, text: str, reason: str) -> None:
    """ext2-174: what is wrong is named; nothing is added."""
    path = tmp_path / "index.json"
    path.write_text(text)
    ran = add(zot, path)
    assert ran.code == 1 and reason in ran.err and str(path) in ran.err, ran
    assert "no index was added" in zot("ext", "index", "list").err


def test_huge_index_is_refused(zot: Zot, tmp_path: Path) -> None:
    """ext2-178: at most 16 MiB."""
    path = tmp_path / "index.json"
    with path.open("wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    assert "larger than 16 MiB" in add(zot, path).err


# --- build and check


def test_build_refuses_names_of_zot(zot: Zot, tmp_path: Path) -> None:
    """ext2-068, ext2-178: names that could be taken for zot's are refused by build and check."""
    for number, name in enumerate(("zot", "System", "app\u0433oval".replace("\u0433", "r"), "z0t")):
        shop = tmp_path / str(number)
        extension(shop / "x", name=name, version="1")
        ran = zot("ext", "index", "build", str(shop))
        assert ran.code == 1 and "could be taken for zot's" in ran.err
    path = tmp_path / "index.json"
    content = {"format": 1, "name": "x", "updated": "2026-01-01T00:00:00Z", "extensions": [{"name": "Approval"}]}
    path.write_text(json.dumps(content))
    assert "could be taken for zot's" in zot("ext", "index", "check", str(path)).err


def test_published_version_cannot_change(zot: Zot, shop: Path) -> None:
    """ext2-178: build keeps published versions and refuses other files under the same number."""
    before = (shop / "weather-1.0.0.tar.gz").read_bytes()
    built(zot, shop)
    assert (shop / "weather-1.0.0.tar.gz").read_bytes() == before
    (shop / "weather" / "main.py").write_text("changed")
    ran = zot("ext", "index", "build", str(shop))
    assert ran.code == 1 and "raise its version" in ran.err


def test_check_verifies_archives_and_signature(zot: Zot, shop: Path) -> None:
    """ext2-178: hash, manifest and signature of an index on this machine."""
    signer, path = Signer(), shop / "index.json"
    assert "not signed" in zot("ext", "index", "check", str(path)).out
    signer.sign(path)
    assert zot("ext", "index", "check", str(path), "--key", signer.key).code == 0
    assert zot("ext", "index", "check", str(path), "--key", Signer().key).code == 1
    change(shop, version={"tree": "sha256:" + "1" * 64, "uses": []})
    ran = zot("ext", "index", "check", str(path))
    assert ran.code == 1 and "weather 1.0.0: its files have the hash" in ran.err


# --- archives


def _tar(*members: tarfile.TarInfo | tuple[str, bytes], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
            else:
                archive.addfile(member)
    return data.getvalue()


def _special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _zip(name: str, content: bytes = b"x", mode: int = 0) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


ARCHIVES: dict[str, tuple[bytes, str]] = {
    "climbing": (_tar(("../out", b"x")), "climbing path"),
    "climbing inside": (_tar(("a/../../out", b"x")), "climbing path"),
    "absolute": (_tar(("/etc/out", b"x")), "absolute path"),
    "symbolic link": (_tar(_special("a", tarfile.SYMTYPE, "/etc"), ("a/out", b"x")), "is a link or no file"),
    "hard link": (_tar(_special("a", tarfile.LNKTYPE, "/etc/passwd")), "is a link or no file"),
    "device": (_tar(_special("a", tarfile.CHRTYPE)), "is a link or no file"),
    "pipe": (_tar(_special("a", tarfile.FIFOTYPE)), "is a link or no file"),
    "git": (_tar((".git/config", b"[core]")), ".git directory"),
    "twice": (_tar(("a", b"1"), ("A", b"2")), "twice"),
    "control characters": (_tar(("a\x1b[2J", b"1")), "unusable path"),
    "many files": (_tar(*((f"f{n}", b"") for n in range(10_001))), "more than 10,000 files"),
    "bomb": (_tar(("big", bytes(65 << 20))), "more than 64 MiB"),
    "climbing zip": (_zip("../out"), "climbing path"),
    "backslash zip": (_zip("..\\out"), "unusable path"),
    "link zip": (_zip("a", b"/etc", 0o120777), "is a link or no file"),
    "bomb zip": (_zip("big", bytes(65 << 20)), "more than 64 MiB"),
    "cut": (_tar(("a", os.urandom(5000)))[:2000], "not a usable tar archive"),
    "nonsense": (b"nonsense" * 100, "not a usable tar archive"),
    "empty": (b"", "not a usable tar archive"),
    "broken zip": (b"PK\x03\x04nonsense", "not a usable zip archive"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archive_that_may_not_be_unpacked(zot: Zot, shop: Path, name: str) -> None:
    """ext2-179: no links, devices, absolute or climbing paths; 64 MiB and 10,000 files; nothing is left."""
    data, reason = ARCHIVES[name]
    (shop / "weather-1.0.0.tar.gz").write_bytes(data)
    add(zot, shop / "index.json")
    ran = zot("ext", "install", "weather")
    assert ran.code == 1 and reason in ran.err, ran
    assert left(zot) == [] and not list(zot.home.rglob("out")) and "Traceback" not in ran.err


@pytest.mark.parametrize("kind", ["tar", "xz", "zip", "inside a directory"])
def test_archives_of_all_kinds(zot: Zot, shop: Path, kind: str) -> None:
    """ext2-179, ext2-175: tar, xz and zip with the same files have the same tree, also with a directory around them."""
    files = [(path.name, path.read_bytes()) for path in sorted((shop / "weather").iterdir())]
    if kind == "zip":
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files:
                archive.writestr(name, content)
        packed = data.getvalue()
    elif kind == "inside a directory":
        packed = _tar(*((f"weather-1.0.0/{name}", content) for name, content in files))
    else:
        packed = _tar(*files, mode="w" if kind == "tar" else "w:xz")
    (shop / "weather-1.0.0.tar.gz").write_bytes(packed)
    add(zot, shop / "index.json")
    ran = zot("ext", "install", "weather")
    assert ran.code == 0, ran


def test_installed_extension_runs(zot: Zot, shop: Path, serve: Any) -> None:
    """ext2-173: what came from an index starts like any other."""
    add(zot, shop / "index.json")
    zot("ext", "install", "weather")
    assert "weather" in zot("ext", "doctor", "weather").out
    described = msgspec.json.decode(zot("ext", "list", "--json").out)["extensions"][0]
    assert described["source"]["kind"] == "index" and described["source"]["place"] == str(shop / "index.json")
    assert sys.executable


def test_update_that_moves_to_another_host_is_asked(zot: Zot, tmp_path: Path) -> None:
    """ext2-184, ext2-172: a version that runs elsewhere from now on needs an answer or --force."""
    shop = tmp_path / "shop"
    settings = {"key": {"type": "string", "secret": True}}
    permissions = {"net": True, "intercept": True}
    for number, host in (("1", "one.example"), ("2", "two.example")):
        rewritten = {"url": f"wss://{host}/x", "version": number}
        if number == "1":
            fields = {"exec": None, "args": None, "settings": settings, "permissions": permissions, "token": "key"}
            extension(shop / "far", **{**fields, **rewritten})
        else:
            rewrite(shop / "far", **rewritten)
        built(zot, shop)
        if number == "1":
            add(zot, shop / "index.json")
            assert "is sent to one.example" in zot("ext", "install", "far").err
    ran = zot("ext", "update", "far")
    assert ran.code == 1 and "all that it observes is sent to two.example" in ran.err
    assert zot("ext", "update", "--force", "far").code == 0

"""``zot ext index`` and ``zot ext search``: indexes of extensions that the user added; build and check one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from zot import __version__
from zot.agent.settings import ExtensionIndex, Settings
from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_notice, print_result, read_answer
from zot.cli.verb_table import options
from zot.errors import ExtensionError, UsageError, ZotError
from zot.features.extensions.install import index_store
from zot.features.extensions.install.archive import unpack
from zot.features.extensions.install.index import ExtensionFields, Index, VersionFields, decode_index, is_url, locate
from zot.features.extensions.install.index_source import manifest_differences, store_of, top_directory
from zot.features.extensions.install.index_store import AddedIndex, checked_place, fingerprint
from zot.features.extensions.install.tree_hash import LARGEST, tree_hash
from zot.features.extensions.loader.manifest import read_manifest
from zot.system.files import zot_home

_VERBS = ("add", "list", "remove", "refresh", "build", "check")


def run(argv: list[str]) -> int:
    verb, rest = verb_of("ext index", argv, _VERBS)
    least, most, what = {
        "add": (1, 1, "the address or path of an index"),
        "remove": (1, 1, "the address, path or name of an index"),
        "refresh": (0, None, ""),
        "build": (1, 1, "a directory of extensions"),
        "check": (1, 1, "the path of an index"),
    }.get(verb, (0, 0, ""))
    typed = parse(rest, options("ext index"), least=least, most=most, what=what)
    return {"add": _add, "list": _list, "remove": _remove, "refresh": _refresh, "build": _build, "check": _check}[verb](
        typed
    )


def search(argv: list[str]) -> int:
    """``zot ext search WORDS``: from the copies; nothing is fetched."""
    typed = parse(argv, options("ext search"))
    indexes = store_of(Settings(zot_home())).all()
    if not indexes:
        raise ZotError("no index was added; add one with `zot ext index add URL`")
    _report(indexes)
    found = 0
    for added in indexes:
        for entry in added.index.extensions if added.index is not None else ():
            if entry.matches(list(typed.words)):
                found += 1
                _show(added, entry)
    return 0 if found else 1


def _report(indexes: list[AddedIndex]) -> None:
    for added in indexes:
        if added.problem:
            print_notice(f"note: {added.problem}")


def _show(added: AddedIndex, entry: ExtensionFields) -> None:
    newest = entry.newest(__version__)
    version = newest.version if newest is not None else f"(no version fits zot {__version__})"
    print_result(f"{entry.name} {version}  {entry.description}".rstrip())
    words = " ".join(newest.uses) if newest is not None else ""
    guard = "guard; " if newest is not None and newest.guard else ""
    print_result(f"  {guard}uses: {words or 'nothing'}; index: {added.name}")


# --- the user's indexes


def _add(typed: ParsedArguments) -> int:
    place, key = checked_place(typed.words[0]), typed.values.get("--key", "")
    settings = Settings(zot_home())
    if any(each.url == place for each in settings.values.ext_indexes):
        raise ZotError(f"{place} is there already; to change its key, remove it first: `zot ext index remove {place}`")
    if key:
        index_store.read_key(key)
    fetched = index_store.fetch_index(place)
    if not key and fetched.signature:
        key = _agreed_key(fetched, place)
    index_store.check_signature(fetched, key, place)
    if not key:
        print_notice(f"note: {place} is not signed: whoever can change it decides which files are installed")
    index = store_of(settings).store(place, key, fetched)
    _save(settings, (*settings.values.ext_indexes, ExtensionIndex(place, key)))
    print_notice(f"added {index.name}: {len(index.extensions)} extensions, updated {index.updated}")
    return 0


def _agreed_key(fetched: index_store.Downloaded, place: str) -> str:
    """The key that the index names, if it signed it and the user agrees."""
    key = fetched.index.key
    if not key:
        raise ZotError(f"{place}: is signed, but names no key; ask its publisher and add it with --key KEY")
    index_store.check_signature(fetched, key, place)
    print_notice(f"{fetched.index.name} is signed by the key {fingerprint(key)}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ZotError(f"cannot ask whether that is its publisher's key; to accept it, pass --key {key}")
    if read_answer("pin this key? [y/N]") not in ("y", "Y"):
        raise ZotError("nothing was added")
    return key


def _list(typed: ParsedArguments) -> int:
    indexes = store_of(Settings(zot_home())).all()
    if not indexes:
        print_notice("no index was added; add one with `zot ext index add URL`")
    for added in indexes:
        signed = f"key {fingerprint(added.key)}" if added.key else "no key"
        print_result(f"{added.name}  {added.url}  {signed}")
        if added.index is not None:
            fetched = time.strftime("%Y-%m-%d %H:%M", time.localtime(added.fetched))
            count = len(added.index.extensions)
            print_result(f"  {count} extensions, updated {added.index.updated}, fetched {fetched}")
    _report(indexes)
    return 0


def _remove(typed: ParsedArguments) -> int:
    settings = Settings(zot_home())
    added = _named(store_of(settings).all(), typed.words[0])
    _save(settings, tuple(each for each in settings.values.ext_indexes if each.url != added.url))
    store_of(settings).forget(added.url)
    print_notice(f"removed {added.name}; extensions installed from it stay")
    return 0


def _refresh(typed: ParsedArguments) -> int:
    store = store_of(Settings(zot_home()))
    indexes = store.all()
    wanted = [_named(indexes, word) for word in typed.words] or indexes
    failed = 0
    for added in wanted:
        try:
            index = store.refresh(added.url, added.key)
            print_notice(f"{index.name}: {len(index.extensions)} extensions, updated {index.updated}")
        except ZotError as error:
            failed += 1
            print_notice(f"not refreshed: {error}")
    return 1 if failed else 0


def _named(indexes: list[AddedIndex], typed: str) -> AddedIndex:
    place = typed if is_url(typed) else os.path.abspath(os.path.expanduser(typed))
    found = [added for added in indexes if place == added.url or typed == added.name]
    if len(found) != 1:
        raise ZotError(f'no index "{typed}"; see `zot ext index list`')
    return found[0]


def _save(settings: Settings, indexes: tuple[ExtensionIndex, ...]) -> None:
    settings.save(ext_indexes=[{"url": each.url, "key": each.key} for each in indexes] or None)


# --- for publishers


def _build(typed: ParsedArguments) -> int:
    from zot.features.extensions.install.index_build import build_index, signing_advice

    directory = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    if not directory.is_dir():
        raise UsageError(f"{directory}: not a directory")
    key = typed.values.get("--key", "")
    if key:
        index_store.read_key(key)
    path = build_index(directory, typed.values.get("--name", ""), key, typed.values.get("--zot", ""), print_notice)
    print_notice(f"wrote {path}")
    print_notice(signing_advice(path))
    return 0


def _check(typed: ParsedArguments) -> int:
    place = checked_place(typed.words[0])
    data = index_store.read_place(place, index_store.LARGEST)
    index, problems = decode_index(data, place), list[str]()
    key = typed.values.get("--key", "") or index.key
    try:
        fetched = index_store.fetch_index(place)
        index_store.check_signature(fetched, key if fetched.signature or typed.has("--key") else "", place)
        signed = f"signed by {fingerprint(key)}" if fetched.signature and key else "not signed"
    except ZotError as error:
        problems.append(str(error).removesuffix("; the old copy stays"))
        signed = ""
    problems += _wrong_archives(index, place)
    for problem in problems:
        print_notice(problem)
    if problems:
        return 1
    print_result(f"{index.name}: {len(index.extensions)} extensions, updated {index.updated}, {signed}")
    return 0


def _wrong_archives(index: Index, place: str) -> list[str]:
    """Problems of archives on this machine; those at addresses are not fetched."""
    found: list[str] = []
    for entry in index.extensions:
        for version in entry.versions:
            archive = version.source.archive
            if archive and not is_url(where := locate(archive, place)):
                found += (f"{entry.name} {version.version}: {text}" for text in _wrong(entry, version, where))
    return found


def _wrong(entry: ExtensionFields, version: VersionFields, archive: str) -> list[str]:
    scratch = Path(tempfile.mkdtemp())
    try:
        unpack(index_store.read_place(archive, LARGEST), scratch / "unpacked")
        top = top_directory(scratch / "unpacked")
        if (found := tree_hash(top)) != version.tree:
            return [f"its files have the hash {found}, the index says {version.tree}"]
        return manifest_differences(read_manifest(top), entry.name, version)
    except (ZotError, ExtensionError) as error:
        return [str(error)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

"""``zot ext install``: copies a directory or clones a repository into the user's extensions.
Installs with one rename; runs and builds nothing."""

from __future__ import annotations

import os
import shlex

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.output import print_notice
from zot.cli.verb_table import options
from zot.errors import ExtensionError
from zot.features.extensions.install.installed import all_installed
from zot.features.extensions.install.place import install_in_place, refuse_existing, staging
from zot.features.extensions.install.source import ExtensionSource, fetch, is_git_url, read_source
from zot.features.extensions.loader.declared_permissions import describe_permissions
from zot.features.extensions.loader.declared_uses import describe_uses
from zot.features.extensions.loader.manifest import Manifest


def run(argv: list[str]) -> int:
    typed = parse(argv, options("ext install"), least=1, most=1, what="a path or a git URL")
    source = _source(typed)
    name = source.directory_name
    if not typed.has("--force"):
        refuse_existing(name)
    with staging(name) as place:
        fetched = fetch(source, place, print_notice, force=typed.has("--force"))
        manifest = install_in_place(place, source, fetched, print_notice)
    directory = manifest.directory
    print_notice(f"installed {manifest.name} {manifest.version} in {directory}".replace("  ", " "))
    others = [item for item in all_installed() if item.name == manifest.name and item.directory != directory]
    for other in others:
        print_notice(f"note: {other.directory} has the same name; the first one loaded is used (`zot ext doctor`)")
    if manifest.has_process:
        print_permissions(manifest)
    if not manifest.enabled:
        print_notice(f"note: it is disabled; enable it with `zot ext enable {manifest.name}`")
    elif manifest.has_process:
        report_exec(manifest)
    return 0


def _source(typed: ParsedArguments) -> ExtensionSource:
    """A path, a git URL, or a name in an index."""
    word = typed.words[0]
    path = os.path.exists(os.path.expanduser(word.removeprefix("file://")))
    if path or is_git_url(word) or "/" in word or typed.has("--ref") or typed.has("--subdir"):
        return read_source(word, typed.values.get("--ref", ""), typed.values.get("--subdir", ""))
    from zot.features.extensions.install.index_source import find_in_indexes

    return find_in_indexes(word)


def print_permissions(manifest: Manifest) -> None:
    for line in (*describe_permissions(manifest.permissions), *describe_uses(manifest.uses, manifest.host)):
        print_notice(f"  {line}")


def report_exec(manifest: Manifest) -> None:
    if manifest.url:
        print_notice(f"it is reached at {manifest.url}; set its token: `zot ext set {manifest.name} {manifest.token}`")
        return
    try:
        program = manifest.argv(os.environ.get("PATH", ""))[0]
    except ExtensionError as error:
        print_notice(f"note: {error}")
        return
    if not os.access(program, os.X_OK):
        print_notice(f"note: {program} is missing or not executable; the extension cannot start until it is built")
    else:
        print_notice(f"it runs `{shlex.join((manifest.exec, *manifest.args))}` from the next start of zot")

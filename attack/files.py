"""Files a clone or another user left lying where zot looks: pipes, devices without end, links to private files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from attack.place import Place, Ran, call
from attack.table import attack
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal


def _pipe(scratch: Path, name: str) -> str:
    place = Place(scratch)
    os.mkfifo(place.home / name)
    ran = place.ask()
    if ran.unclean or "the answer" not in ran.out:
        return ran.unclean or ran.told
    return "" if name in ran.err else f"not a word about it: {ran.told}"


@attack("files", "a pipe as config.json", expect="reported, does not block")
def pipe_as_config(scratch: Path) -> str:
    return _pipe(scratch, "config.json")


@attack("files", "a pipe as models.json", expect="reported, does not block")
def pipe_as_models(scratch: Path) -> str:
    return _pipe(scratch, "models.json")


@attack("files", "a pipe as SYSTEM.md", expect="reported, does not block")
def pipe_as_system_prompt(scratch: Path) -> str:
    return _pipe(scratch, "SYSTEM.md")


@attack("files", "a pipe as trust.json, with an extension in the clone", expect="reported, does not block")
def pipe_as_trust(scratch: Path) -> str:
    place = Place(scratch)
    os.mkfifo(place.home / "trust.json")
    extension = place.clone / ".zot" / "extensions" / "x"
    extension.mkdir(parents=True)
    (extension / "extension.json").write_text('{"name": "x", "exec": "/bin/true"}')
    ran = place.ask()
    return ran.unclean or ("" if "trust.json" in ran.err else f"not a word about it: {ran.told}")


@attack("files", "a pipe as auth.json, when a key is needed", expect="reported, does not block")
def pipe_as_auth(scratch: Path) -> str:
    place = Place(scratch)
    os.mkfifo(place.home / "auth.json")
    ran = place.run("--provider", "anthropic", "-p", "go")
    return ran.unclean or ("" if "auth.json" in ran.err else f"not a word about it: {ran.told}")


@attack("files", "pipes as all files of zot's home, read by `zot doctor`", expect="reported, does not block")
def pipes_everywhere(scratch: Path) -> str:
    place = Place(scratch)
    names = ("config.json", "models.json", "auth.json", "trust.json", "guards.json", "AGENTS.md", "SYSTEM.md")
    for name in names:
        os.mkfifo(place.home / name)
    (place.home / "themes").mkdir()
    os.mkfifo(place.home / "themes" / "grey.json")
    ran = place.run("doctor", env={"ZOT_THEME": "grey"})
    untold = [name for name in names[:3] if name not in ran.told]
    return ran.unclean or (f"not a word about {untold}" if untold else "")


def _sent(place: Place, *flags: str) -> str:
    """Everything the provider got."""
    with FakeModelServer([Say("hello")], repeat=True) as server:
        place.run("--base-url", server.url, "--api-key", "test-key", *flags, "-p", "go")
        return repr([request.body for request in server.requests])


def _leaks(place: Place) -> str:
    sent = _sent(place)
    if "go" not in sent:
        return f"the control failed, nothing was sent: {sent}"
    return "the private key was sent to the provider" if "THE-SECRET" in sent else ""


def _told(place: Place, name: str) -> str:
    ran = place.ask()
    lines = [line for line in ran.err.splitlines() if name in line]
    return "" if len(lines) == 1 and "leads out of" in lines[0] else f"told {len(lines)} times: {ran.err}"


@attack("files", "AGENTS.md is a link to ../.ssh/id_rsa", expect="refused; reported once")
def context_file_out_of_the_clone(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / "AGENTS.md").symlink_to("../.ssh/id_rsa")
    return _leaks(place) or _told(place, "AGENTS.md")


@attack("files", "CLAUDE.md reached through a linked directory", expect="refused; reported once")
def context_file_through_a_linked_directory(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / "sub").mkdir()
    (place.clone / "keys").symlink_to("../.ssh")
    (place.clone / "sub" / "CLAUDE.md").symlink_to("../keys/id_rsa")
    place.clone /= "sub"
    return _leaks(place) or _told(place, "CLAUDE.md")


@attack("files", "a clone without .git below a home that is a repository", expect="refused; reported once")
def context_file_in_a_versioned_home(scratch: Path) -> str:
    place = Place(scratch)
    (place.user / ".git").mkdir()
    (place.clone / ".git").rmdir()
    (place.clone / "AGENTS.md").symlink_to("../.ssh/id_rsa")
    return _leaks(place) or _told(place, "AGENTS.md")


@attack(
    "files", "SKILL.md of the clone is a link to a private key, loaded by the model", expect="refused; reported once"
)
def skill_out_of_the_clone(scratch: Path) -> str:
    place = Place(scratch)
    skill = place.clone / ".zot" / "skills" / "handy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").symlink_to("../../../../.ssh/id_rsa")
    ran = place.ask("--json", turns=[call("skill", name="handy"), {"text": "done"}])
    if "THE-SECRET" in ran.told:
        return "the private key came back as a skill"
    return _leaks(place) or _told(place, "SKILL.md")


@attack("files", "the clone's .claude/skills is a link to a directory outside", expect="refused; reported once")
def skills_directory_out_of_the_clone(scratch: Path) -> str:
    place = Place(scratch)
    outside = place.user / "private" / "notes"
    outside.mkdir(parents=True)
    (outside / "SKILL.md").write_text("---\nname: notes\ndescription: THE-SECRET\n---\n")
    (place.clone / ".claude").mkdir()
    (place.clone / ".claude" / "skills").symlink_to("../../private")
    return _leaks(place) or _told(place, "SKILL.md")


@attack("files", "AGENTS.md is a link to /dev/zero", expect="refused")
def context_file_without_end(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / "AGENTS.md").symlink_to("/dev/zero")
    ran = place.ask()
    return ran.unclean or ("" if "AGENTS.md" in ran.err else f"not a word about it: {ran.told}")


def _repository_as_home(place: Place) -> Path:
    """What a clone would bring to be zot's home."""
    marker = place.scratch / "ran"
    for home in (place.clone / ".zot", place.clone / ".local" / "state" / "zot", place.clone / "zot"):
        home.mkdir(parents=True)
        program = f'{{"program": "touch", "args": ["{marker}"]}}'
        (home / "config.json").write_text(f'{{"api_key_command": {{"anthropic": {program}}}}}')
        extension = home / "extensions" / "x"
        extension.mkdir(parents=True)
        (extension / "extension.json").write_text(
            f'{{"name": "x", "exec": "/bin/sh", "args": ["-c", "touch {marker}"]}}'
        )
    return marker


def _adopted(place: Place, env: dict[str, str], without: tuple[str, ...], prefix: tuple[str, ...] = ()) -> str:
    marker = _repository_as_home(place)
    ran = place.run("--provider", "anthropic", "-p", "go", env=env, without=without, prefix=prefix)
    if marker.exists():
        return "the clone's settings or extensions ran as the user's own"
    return ran.unclean


@attack("files", "no HOME and no passwd entry: the clone's .zot as zot's home", expect="refused")
def repository_as_home(scratch: Path) -> str:
    if os.geteuid() != 0:
        return ""  # nobody without root's powers can be somebody without a name
    place = Place(scratch)
    for path in (scratch, *scratch.parents):
        if path.stat().st_mode & 0o055 != 0o055 and path.is_relative_to("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    place.scratch.chmod(0o777)
    nameless = ("setpriv", "--reuid=54321", "--clear-groups", "--inh-caps=-all")
    return _adopted(place, {"PYTHONDONTWRITEBYTECODE": "1"}, ("HOME",), nameless)


@attack("files", "HOME=. : the clone's .local/state/zot as zot's home", expect="refused")
def relative_home(scratch: Path) -> str:
    return _adopted(Place(scratch), {"HOME": "."}, ())


@attack("files", "XDG_STATE_HOME=. : the clone's zot as zot's home", expect="ignored")
def relative_state_home(scratch: Path) -> str:
    return _adopted(Place(scratch), {"XDG_STATE_HOME": "."}, ())


@attack("files", "a clone whose name is not UTF-8, in `zot rpc` and `zot ext trust`", expect="answered")
def directory_that_is_not_text(scratch: Path) -> str:
    place = Place(scratch)
    odd = Path(os.fsdecode(os.fsencode(scratch) + b"/caf\xe9"))
    extension = odd / ".zot" / "extensions" / "x"
    extension.mkdir(parents=True)
    (extension / "extension.json").write_text('{"name": "x", "exec": "/bin/true"}')
    asked = b'{"id":"1","type":"get_state"}\n'
    ran = place.run("rpc", *place.model(), cwd=odd, stdin=asked)
    if ran.unclean or '"success":true' not in ran.out:
        return f"zot rpc: {ran.unclean or ran.told[-300:]}"
    return place.run("ext", "trust", cwd=odd).unclean


# --- a home or a working directory that is not one

_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
_WORKING = (
    *(("-p", "go"), ("--json", "go"), ("--stream", "go"), ("--no-session", "-p", "go"), ("-c", "-p", "go")),
    ("rpc",),
    *(("doctor",), ("ext", "list"), ("ext", "doctor"), ("ext", "trust"), ("ext", "logs", "x"), ("ext", "enable", "x")),
    *(("ext", "remove", "-y", "x"), ("sessions",), ("sessions", "export"), ("sessions", "prune", "--older-than", "1d")),
)


_NEEDS_NO_PLACE = ("ext", "logs", "x")


def _wrong(ran: Ran, named: str, words: tuple[str, ...]) -> str:
    """Every verb ends with code 1 and one line that names the place; ``doctor`` lists it among what it knows."""
    told = [line for line in ran.told.splitlines() if line.startswith(("zot: ", "  ! "))]
    if ran.unclean or ran.code != 1 or len(told) != 1 or named not in told[0]:
        return f"zot {' '.join(words)}: {ran.unclean or f'{ran.code}, {ran.told[-400:]}'}"
    return ""


def _walk(
    place: Place, named: str, env: dict[str, str], prefix: tuple[str, ...] = (), *, without: tuple[str, ...] = ()
) -> str:
    for words in _WORKING:
        if words == without:
            continue
        model = place.model() if words[0].startswith("-") or words == ("rpc",) else ()
        argv = ("rpc", *model) if words == ("rpc",) else (*model, *words)
        ran = place.run(*argv, env={"PYTHONDONTWRITEBYTECODE": "1", **env}, prefix=prefix)
        if wrong := _wrong(ran, named, words):
            return wrong
    return ""


@attack("files", "a file as zot's home, and every verb", expect="one line, code 1", quick=False)
def home_is_a_file(scratch: Path) -> str:
    place = Place(scratch)
    (scratch / "home").write_text("not a directory")
    home = scratch / "home"
    return _walk(place, str(home), {"ZOT_HOME": str(home)}) or _in_a_terminal(place, home)


def _in_a_terminal(place: Place, home: Path) -> str:
    environment = place.environment({"ZOT_HOME": str(home), "TERM": "xterm-256color"})
    with FakeTerminal([f"{sys.prefix}/bin/zot"], cwd=place.clone, env=environment) as terminal:
        code = terminal.wait_exit(20)
        if code != 1 or "is not a directory" not in terminal.everything or "Traceback" in terminal.everything:
            return f"in a terminal it ended with {code}: {terminal.everything[-300:]}"
    return ""


@attack("files", "a home without access permission, and every verb", expect="one line, code 1", quick=False)
def home_of_somebody_else(scratch: Path) -> str:
    if os.geteuid() != 0:
        return ""  # only root can be somebody else
    place = Place(scratch)
    for path in (scratch, *scratch.parents):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    os.system(f"chmod -R a+rwX {scratch}")
    home = scratch / "home"
    home.mkdir(mode=0o700)
    return _walk(place, str(home), {"ZOT_HOME": str(home)}, _NOBODY)


@attack("files", "the working directory is deleted, and every verb", expect="one line, code 1", quick=False)
def working_directory_is_gone(scratch: Path) -> str:
    place = Place(scratch)
    gone = f'mkdir -p "{scratch}/gone" && cd "{scratch}/gone" && rmdir "{scratch}/gone" && exec "$@"'
    return _walk(place, "the current directory no longer exists", {}, ("sh", "-c", gone, "sh"), without=_NEEDS_NO_PLACE)


@attack("files", "a pipe that never ends as the prompt", expect="refused within limits")
def endless_prompt(scratch: Path) -> str:
    place = Place(scratch)
    ran = place.run(*place.model(), "-p", prefix=("sh", "-c", 'yes | prlimit --as=2000000000 "$@"', "sh"))
    return ran.unclean or ("" if ran.code == 1 and "64 MiB" in ran.err else f"{ran.code}: {ran.told[-300:]}")

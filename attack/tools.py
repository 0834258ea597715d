"""What a model or a clone makes the tools do: freeze on a pattern, swallow the memory, change more than the content."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from attack.place import Place, Ran, call
from attack.table import attack

FREEZING = "*a" * 24 + "*b"


def _tool(place: Place, turn: dict[str, Any], *flags: str, **options: Any) -> Ran:
    """The model makes one call; what comes out are the events."""
    return place.run(*place.model(turn, {"text": "done"}), *flags, "--json", "go", **options)


def _without_ripgrep(place: Place) -> dict[str, str]:
    """A PATH on which zot has to search by itself."""
    programs = place.scratch / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "cat", "env", "true", "sleep"):
        for directory in ("/bin", "/usr/bin"):
            if os.path.exists(f"{directory}/{name}") and not (programs / name).exists():
                (programs / name).symlink_to(f"{directory}/{name}")
    return {"PATH": str(programs)}


@attack("tools", "the clone's .ignore is a link to /dev/zero, and files are listed", expect="skipped")
def ignore_file_without_end(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / ".ignore").symlink_to("/dev/zero")
    (place.clone / "here.txt").write_text("x")
    ran = _tool(place, call("glob", pattern="*.txt"), "--tools", "glob", env=_without_ripgrep(place))
    return ran.unclean or ("" if "here.txt" in ran.out else f"nothing was found: {ran.told[-300:]}")


@attack("tools", "the clone's .ignore is a pipe", expect="skipped")
def ignore_file_is_a_pipe(scratch: Path) -> str:
    place = Place(scratch)
    os.mkfifo(place.clone / ".ignore")
    (place.clone / "here.txt").write_text("x")
    ran = _tool(place, call("glob", pattern="*.txt"), "--tools", "glob", env=_without_ripgrep(place))
    return ran.unclean or ("" if "here.txt" in ran.out else f"nothing was found: {ran.told[-300:]}")


@attack("tools", "an ignore pattern with many stars", expect="matched in linear time")
def freezing_ignore_pattern(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / ".ignore").write_text(f"{FREEZING}\n")
    (place.clone / ("a" * 200)).write_text("x")
    ran = _tool(place, call("glob", pattern="a*"), "--tools", "glob", env=_without_ripgrep(place))
    return ran.unclean or ("" if "a" * 200 in ran.out else f"nothing was found: {ran.told[-300:]}")


@attack("tools", "a glob pattern with many stars, many ** and many braces", expect="matched in linear time, or refused")
def freezing_glob_pattern(scratch: Path) -> str:
    place = Place(scratch)
    deep = place.clone.joinpath(*(["a"] * 60))
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("x")
    for pattern in (f"**/{FREEZING}", "**/a/" * 30 + "b", "{a,b}" * 30, "[z-a]"):
        started = time.monotonic()
        ran = _tool(place, call("glob", pattern=pattern), "--tools", "glob")
        if ran.unclean or time.monotonic() - started > 10:
            return f"{pattern[:20]}: {ran.unclean or 'it took too long'}"
    return ""


@attack("tools", "edit of a file of 1.5 GB", expect="refused, with the alternative")
def edit_of_a_huge_file(scratch: Path) -> str:
    place = Place(scratch)
    huge = place.clone / "huge.log"
    huge.write_bytes(b"needle\n")
    os.truncate(huge, 1_500_000_000)
    turn = call("edit", path="huge.log", edits=[{"oldText": "needle", "newText": "x"}])
    ran = _tool(place, turn, prefix=("prlimit", "--as=2000000000"))
    return ran.unclean or ("" if "is larger than 32 MiB" in ran.out else ran.told[-300:])


@attack("tools", "edit of a file with a second name", expect="both names still share one file")
def edit_of_a_hard_link(scratch: Path) -> str:
    place = Place(scratch)
    (place.clone / "one").write_text("old text\n")
    os.link(place.clone / "one", place.clone / "two")
    ran = _tool(place, call("edit", path="one", edits=[{"oldText": "old", "newText": "a new and longer"}]))
    if ran.unclean or (place.clone / "one").read_text() != "a new and longer text\n":
        return ran.unclean or ran.told[-300:]
    return "" if os.path.samefile(place.clone / "one", place.clone / "two") else "the link was broken"


@attack("tools", "edit of a writable file of another user", expect="its owner is unchanged")
def edit_of_somebody_elses_file(scratch: Path) -> str:
    if os.geteuid() != 0:
        return ""  # only root can give a file away and then be somebody else
    place = Place(scratch)
    for path in (scratch, *scratch.parents):
        if path.is_relative_to("/tmp") and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    os.system(f"chmod -R a+rwX {scratch}")
    theirs = place.clone / "theirs"
    theirs.write_text("old text\n")
    os.chown(theirs, 12345, 12345)
    theirs.chmod(0o666)
    turn = call("edit", path="theirs", edits=[{"oldText": "old", "newText": "new"}])
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
    ran = _tool(place, turn, prefix=nobody, env={"PYTHONDONTWRITEBYTECODE": "1"})
    if ran.unclean or theirs.read_text() != "new text\n":
        return ran.unclean or ran.told[-300:]
    return "" if theirs.stat().st_uid == 12345 else "the file changed hands"


@attack("tools", "`zot ext install URL` with a git of the clone on a relative PATH", expect="not run")
def git_of_the_clone(scratch: Path) -> str:
    place = Place(scratch)
    program = place.clone / "git"
    program.write_text(f"#!/bin/sh\ntouch {scratch}/ran\n")
    program.chmod(0o755)
    ran = place.run("ext", "install", "https://127.0.0.1:9/x.git", env={"PATH": f".::{os.environ['PATH']}"})
    return ran.unclean or ("the clone's git ran" if (scratch / "ran").exists() else "")


SECRETS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY"),
    *("OLLAMA_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AZURE_OPENAI_KEY", "GROQ_API_KEY", "TAVILY_API_KEY"),
    *("GITHUB_COPILOT_TOKEN", "REPLICATE_API_TOKEN", "ZOTCORE_RPC_TOKEN", "TELEGRAM_BOT_TOKEN", "SOME_NEW_API_KEY"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_KEY"),
    *("GOOGLE_CREDENTIALS", "CLOUDSDK_AUTH_ACCESS_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_KEY"),
    *(
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GITLAB_TOKEN",
        "CI_JOB_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "SYSTEM_ACCESSTOKEN",
    ),
    *("NPM_TOKEN", "NODE_AUTH_TOKEN", "npm_config__authToken", "TWINE_PASSWORD", "UV_PUBLISH_TOKEN", "PYPI_KEY"),
    *("POETRY_PYPI_TOKEN_PYPI", "CARGO_REGISTRY_TOKEN", "DOCKER_PASSWORD", "DOCKER_AUTH_CONFIG", "VAULT_TOKEN"),
    *("PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH", "SMTP_PASS", "SSHPASS", "SSH_PRIVATE_KEY", "SECRET_KEY_BASE"),
    *("STRIPE_SECRET_KEY", "SLACK_WEBHOOK_URL", "OP_SESSION_my", "BW_SESSION", "TF_TOKEN_app", "SOPS_AGE_KEY"),
)
HARMLESS = (
    *("EDITOR", "MONKEY", "SSH_AUTH_SOCK", "SSH_ASKPASS", "GIT_ASKPASS", "GOOGLE_APPLICATION_CREDENTIALS", "GPG_KEY"),
    *("TOKENIZERS_PARALLELISM", "OPENAI_MAX_TOKENS", "AWS_PROFILE", "AWS_REGION", "VAULT_ADDR", "PGPASSFILE"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "RESTIC_PASSWORD_FILE", "KUBECONFIG", "XAUTHORITY"),
)


@attack("tools", "a command prints the secrets of the environment", expect="withheld, except allowed ones")
def credentials_in_the_environment(scratch: Path) -> str:
    place = Place(scratch)
    allowed = {"TAVILY_API_KEY", "GH_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    (place.home / "config.json").write_text(
        json.dumps({"env_passthrough": ["TAVILY_API_KEY", "GH_TOKEN", "AWS_*", "OPENAI_*", "ZOT*"]})
    )
    everything = {name: f"value-of-{name};" for name in (*SECRETS, *HARMLESS)}
    ran = _tool(place, call("bash", command="env"), env=everything)
    seen = {name for name, value in everything.items() if value in ran.out}
    wrong = seen ^ {*allowed, *HARMLESS, "OPENAI_ADMIN_KEY"}  # a pattern lets no key of a provider of zot's through
    return ran.unclean or (f"wrongly seen or not seen: {sorted(wrong)}" if wrong else "")


@attack("tools", "a command lacks a token that was withheld", expect="the result names the variable and the setting")
def a_withheld_token_is_named(scratch: Path) -> str:
    place = Place(scratch)
    told: list[bool] = []
    for command in ("echo $GH_TOKEN", "echo set GH_TOKEN first; exit 4", "true"):
        ran = _tool(place, call("bash", command=command), env={"GH_TOKEN": "value-of-it"})
        told.append("not passed to commands: GH_TOKEN" in ran.out and "env_passthrough" in ran.out)
        if ran.unclean or "value-of-it" in ran.out:
            return ran.unclean or "the value was told"
    return "" if told == [True, True, False] else f"told: {told}"

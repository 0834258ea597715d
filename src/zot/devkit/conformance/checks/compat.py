"""Runs under less: a zot of the first edition, one without a single feature, and the modes without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.devkit.conformance.results import Check
from zot.wire import extension_frames
from zot.wire.extension_frames import Cancel, Contribute, Progress, Request, Response, Withdraw

if TYPE_CHECKING:
    from zot.devkit.conformance.extension_run import ExtensionRun
    from zot.devkit.conformance.played_host import PlayedHost

CHECKS = (
    Check(
        "compat-no-new-frames",
        "2.4",
        (2, 3, 163),
        "a zot of the first edition gets no frame of the second",
        "wait for hello_ack and look into its features before you send request, contribute, progress or withdraw, or "
        "subscribe to an event of the second edition; the SDKs do it for you",
    ),
    Check(
        "compat-registrations",
        "2.4",
        (163,),
        "commands, tools and classic interceptions are also registered on a zot of the first edition",
        "where hello_ack has no features, use register_command and register_tool instead of contribute",
    ),
    Check(
        "compat-features",
        "2.4",
        (5, 170),
        "it starts and answers when a single feature it uses is missing",
        "a feature may be missing: ask for it in hello_ack.features (in the SDKs `has`) and go on without it",
    ),
    Check(
        "compat-modes",
        "20",
        (21, 153, 170),
        "it starts and answers in every mode",
        "look at mode and ui of hello_ack; dialogs, editor and terminal answer `unavailable` where there is no screen",
    ),
)

_NEW = (Request, Response, Progress, Cancel, Contribute, Withdraw)


def check_first_edition(runs: list[ExtensionRun]) -> None:
    """The runs in which the host was one of the first edition."""
    for run in runs:
        late = run.subscribed.intersection(extension_frames.EDITION2_EVENTS)
        late |= set(run.intercepts).intersection(extension_frames.EDITION2_INTERCEPTS)
        for line in run.host.transcript.received:
            if isinstance(line.frame, _NEW):
                what = line.frame.__struct_config__.tag
                evidence = f"{what} to a zot whose hello_ack has no features"
                run.verdicts.failed("compat-no-new-frames", evidence, line.data, line.t)
        for name in sorted(late):
            evidence = f"subscribe to {name!r} on a zot whose hello_ack has no features"
            run.verdicts.failed("compat-no-new-frames", evidence)
        run.verdicts.passed("compat-no-new-frames")


def check_registrations(old: ExtensionRun, new: PlayedHost) -> None:
    """Whatever both editions know is there in both."""
    now = named(new)
    for kind, names in named_first(old).items():
        if lost := sorted(now[kind] - names):
            evidence = f"{kind} {lost[0]!r} is not there on a zot of the first edition"
            old.verdicts.failed("compat-registrations", evidence)
    old.verdicts.passed("compat-registrations")


def named_first(run: ExtensionRun) -> dict[str, set[str]]:
    classic = {name for name in run.intercepts if name in extension_frames.INTERCEPTS}
    return {
        "command": {command.name.lower() for command in run.commands},
        "tool": {tool.name for tool in run.tools},
        "interception": classic,
    }


def named(host: PlayedHost) -> dict[str, set[str]]:
    """Also what was contributed instead of registered."""
    found = named_first(host.run)
    for frame, _, _ in host.contributed:
        if frame.kind == "command":
            found["command"].add(frame.name.lower())
        elif frame.kind == "tool":
            found["tool"].add(frame.name)
    return found

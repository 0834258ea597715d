"""Commands of a small model: approved by the user, jailed without one, or removed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zot.agent.config import NO_FRONT_END, FrontEnd, RunConfig
from zot.errors import ZotError
from zot.features.jail import feature
from zot.local_model.feature import prepare_run

JAIL = object()


@pytest.fixture(autouse=True)
def jail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature, "confine", lambda *_: JAIL)


def run(front_end: FrontEnd = NO_FRONT_END, mode: str = "", jail: Any = None, **config: Any) -> Any:
    values = SimpleNamespace(permission_mode=mode, jail_roots=())
    return SimpleNamespace(
        config=RunConfig(**config),
        settings=SimpleNamespace(values=values),
        front_end=front_end,
        home=Path("/home"),
        workspace=SimpleNamespace(cwd=Path("/work"), jail=jail, added_dirs=()),
        withheld=frozenset(),
        constrained_mode="",
    )


def test_commands_without_a_user_are_jailed() -> None:
    made = run()
    assert prepare_run(made) == []
    assert made.workspace.jail is JAIL and not made.constrained_mode and not made.withheld


def test_commands_with_a_user_need_approval() -> None:
    made = run(FrontEnd(switches=True))
    assert prepare_run(made) == []
    assert made.workspace.jail is None and made.constrained_mode == "accept-edits"


def test_without_jail_bash_is_removed_with_one_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_jail(*_: object) -> None:
        raise ZotError("no jail: the kernel is too old")

    monkeypatch.setattr(feature, "confine", no_jail)
    made = run()
    [line] = prepare_run(made)
    assert made.withheld == {"bash"} and "the kernel is too old" in line and "--permission-mode everything" in line


@pytest.mark.parametrize("said", [{"permission_mode": "everything"}, {"mode": "ask"}, {"jail": "one of their own"}])
def test_explicit_choice_overrides_safeguard(said: dict[str, Any]) -> None:
    made = run(**said)
    assert prepare_run(made) == [] and not made.constrained_mode and not made.withheld
    assert made.workspace.jail == said.get("jail")


def test_a_run_without_bash_needs_no_jail() -> None:
    made = run(tools=("read",))
    assert prepare_run(made) == [] and made.workspace.jail is None

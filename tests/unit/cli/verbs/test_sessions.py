"""``zot sessions`` as users type it, and the chooser of ``--resume``."""

from __future__ import annotations

import io
import os
import sys
import time
from pathlib import Path

import pytest

from tests.unit.core.session.conversation import assistant, reopened, saved, texts, user
from zot.cli import main
from zot.cli.verbs.sessions import run
from zot.core.session.store import SessionStore
from zot.errors import UsageError
from zot.frontends.session_picker import choose
from zot.provider.messages import Usage


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    """The sessions of the directory the command runs in."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return SessionStore(tmp_path / "home", project, "1")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch):
    def type_in(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return type_in


Capture = pytest.CaptureFixture[str]


def out(capsys: Capture) -> str:
    return capsys.readouterr().out


def test_the_list_shows_age_model_count_cost_id_and_title(store: SessionStore, capsys: Capture) -> None:
    session = store.create("anthropic", "opus")
    session.appended(user("fix the parser"))
    session.record_usage(Usage(), Usage(cost_usd=0.125))
    session.close()
    os.utime(session.path, (time.time() - 7300,) * 2)
    saved(store, user("b"), assistant("c"), title="second one")
    assert run([]) == 0
    first, second = out(capsys).splitlines()
    assert first.split() == ["1", "now", "opus", "2", "msg", "$0.000", first.split()[6], "second", "one"]
    assert second.split() == ["2", "2h", "opus", "1", "msg", "$0.125", session.id[:8], "fix", "the", "parser"]


def test_escape_sequences_in_a_title_do_not_reach_the_terminal(store: SessionStore, capsys: Capture) -> None:
    saved(store, user("evil \x1b]0;title\x07 \u202e text"))
    assert run(["list"]) == 0
    assert out(capsys).rstrip("\n").isprintable()


def test_empty_list_is_not_an_error(store: SessionStore, capsys: Capture) -> None:
    assert run(["list"]) == 0
    assert "no sessions in" in capsys.readouterr().err
    assert not store.root.exists()


def test_all_lists_every_directory_and_cwd_another_one(store: SessionStore, tmp_path: Path, capsys: Capture) -> None:
    saved(store, user("here"))
    saved(SessionStore(tmp_path / "home", tmp_path, "1"), user("there"))
    assert run(["list", "--all"]) == 0
    assert len(out(capsys).splitlines()) == 2
    assert run(["list", f"--cwd={tmp_path}"]) == 0
    assert "there" in out(capsys)
    assert run(["--cwd", ".."]) == 0
    assert "there" in out(capsys)


def test_session_is_selected_by_number_id_path_or_newest(store: SessionStore, tmp_path: Path, capsys: Capture) -> None:
    old = saved(store, user("old"))
    os.utime(old, (1, 1))
    new = saved(store, user("new"))
    other = saved(SessionStore(tmp_path / "home", tmp_path, "1"), user("elsewhere"))
    for words, expected in [([], new), (["2"], old), ([str(old)], old), ([old.stem[-8:]], old), ([other.name], other)]:
        assert run(["path", *words]) == 0
        assert out(capsys).strip() == str(expected)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["dance"], 'unknown command "dance"'),
        (["list", "--colour"], 'unknown flag "--colour"'),
        (["list", "extra"], 'unexpected argument "extra"'),
        (["list", "--all=x"], "--all takes no value"),
        (["list", "--cwd"], "--cwd needs a value"),
        (["fork", "--at", "two"], "expected a number of messages"),
        (["rename", "1"], "rename needs a session and a title"),
        (["prune", "--older-than", "soon"], '"soon": expected an age'),
        (["prune", "--yes"], "--yes requires --all"),
        (["path"], "no sessions in"),
        (["path", "7"], "no session number 7"),
        (["path", "deadbeef"], 'no session "deadbeef"'),
        (["import"], "import requires a .zotsession file"),
        (["import", "missing"], "no session file missing"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_1(
    store: SessionStore, capsys: Capture, argv: list[str], text: str
) -> None:
    assert run(argv) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("zot: ") and text in captured.err
    assert captured.err.count("\n") == 1


def test_an_ambiguous_id_is_refused(store: SessionStore, capsys: Capture) -> None:
    path = saved(store, user("a"))
    twin = path.with_name("20200101-000000-00000000.jsonl")
    twin.write_bytes(path.read_bytes())
    assert run(["path", reopened(store, path).id[:8]]) == 1
    assert "2 sessions" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["prune", "-h"], ["help"]])
def test_help_is_on_stdout(store: SessionStore, capsys: Capture, argv: list[str]) -> None:
    assert main.run(["sessions", *argv]) == 0
    assert out(capsys).startswith("Usage: zot sessions")


def test_rename_gives_a_title(store: SessionStore) -> None:
    path = saved(store, user("a"))
    assert run(["rename", "1", "a", "better", "name"]) == 0
    assert reopened(store, path).meta.title == "a better name"


def test_rename_of_session_in_use_is_an_error_with_a_fix(store: SessionStore, capsys: Capture) -> None:
    session = store.create("p", "m")
    session.appended(user("a"))
    assert run(["rename", "1", "x"]) == 1
    assert "zot sessions fork" in capsys.readouterr().err
    session.close()


def test_fork_prints_the_new_file(store: SessionStore, capsys: Capture) -> None:
    saved(store, user("a"), assistant("b"), user("c"))
    assert run(["fork", "--at", "2"]) == 0
    assert texts(reopened(store, Path(out(capsys).strip()))) == ["a", "b"]


def test_tree_indents_forks_and_marks_the_current_session(
    store: SessionStore, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(store, user("root"))
    assert run(["fork"]) == 0
    branch = Path(out(capsys).strip())
    monkeypatch.setenv("ZOT_SESSION_ID", reopened(store, branch).id)
    assert run(["tree"]) == 0
    assert out(capsys) == "root\n  root [current]\n"


def test_export_and_import_go_round(store: SessionStore, tmp_path: Path, capsys: Capture) -> None:
    saved(store, user("hello there"))
    (tmp_path / "Downloads").mkdir()
    assert run(["export"]) == 0
    captured = capsys.readouterr()
    target = Path(captured.out.strip())
    assert target.parent == tmp_path / "Downloads" and target.name.endswith("-hello-there.zotsession")
    assert "may still contain paths" in captured.err
    assert run(["import", str(target)]) == 0
    assert texts(reopened(store, Path(out(capsys).strip()))) == ["hello there"]


def test_export_to_a_name_with_scrub(store: SessionStore, tmp_path: Path, capsys: Capture) -> None:
    saved(store, user(f"see {store.cwd}/x"))
    assert run(["export", "1", str(tmp_path / "out"), "--scrub"]) == 0
    assert b"<cwd>/x" in Path(out(capsys).strip()).read_bytes()


class TestPrune:
    @pytest.fixture
    def paths(self, store: SessionStore, tmp_path: Path) -> list[Path]:
        home = tmp_path / "home"
        saved(store, user("stays"))
        return [saved(SessionStore(home, tmp_path / name, "1"), user(name)) for name in ("gone-a", "gone-b")]

    def test_a_dry_run_shows_and_deletes_nothing(self, paths: list[Path], capsys: Capture) -> None:
        assert run(["prune", "--dry-run"]) == 0
        assert [line.split()[-1].rpartition("/")[2] for line in out(capsys).splitlines()] == ["gone-a", "gone-b"]
        assert all(path.exists() for path in paths)

    def test_chosen_and_confirmed_groups_are_deleted(self, paths: list[Path], store: SessionStore, typed) -> None:
        typed("2\ny\n")
        assert run(["prune"]) == 0
        assert [path.exists() for path in paths] == [True, False]
        assert store.newest() is not None

    @pytest.mark.parametrize("answers", ["", "\n", "1\n", "1\nn\n", "all\n\n"])
    def test_prune_without_choice_and_yes_deletes_nothing(self, paths: list[Path], typed, answers: str) -> None:
        typed(answers)
        assert run(["prune"]) == 0
        assert all(path.exists() for path in paths)

    @pytest.mark.parametrize("answer", ["3\n", "x\n", "0\n"])
    def test_a_wrong_choice_is_an_error(self, paths: list[Path], typed, answer: str) -> None:
        typed(answer)
        assert run(["prune"]) == 1
        assert all(path.exists() for path in paths)

    def test_all_and_yes_ask_nothing(self, paths: list[Path], store: SessionStore, typed) -> None:
        typed("")
        assert run(["prune", "--all", "--yes"]) == 0
        assert not any(path.exists() for path in paths)
        assert store.newest() is not None

    def test_all_still_asks_for_a_yes(self, paths: list[Path], typed) -> None:
        typed("yes\n")
        assert run(["prune", "--all"]) == 0
        assert not any(path.exists() for path in paths)

    def test_a_directory_and_an_age_narrow_it(self, store: SessionStore, paths: list[Path], typed) -> None:
        assert run(["prune", "--cwd", ".", "--older-than", "1d", "--all", "--yes"]) == 0
        assert store.newest() is not None
        assert run(["prune", "--cwd", ".", "--all", "--yes"]) == 0
        assert store.newest() is None and all(path.exists() for path in paths)

    def test_session_in_use_is_not_deleted_and_exits_1(
        self, paths: list[Path], store: SessionStore, capsys: Capture
    ) -> None:
        session = store.open(paths[0])
        assert run(["prune", "--all", "--yes"]) == 1
        session.close()
        assert paths[0].exists() and "another zot uses it" in out(capsys)


class TestChoose:
    def test_a_number_gives_the_session(self, store: SessionStore) -> None:
        old = saved(store, user("older work"))
        os.utime(old, (1, 1))
        saved(store, user("newer"))
        written: list[str] = []
        assert choose(store, lambda: "2\n", written.append) == old
        text = "".join(written)
        assert "older work" in text and "opus" in text and text.index("newer") < text.index("older work")

    @pytest.mark.parametrize("answer", ["", "0\n", "3\n", "x\n", "-1\n"])
    def test_anything_else_is_an_error(self, store: SessionStore, answer: str) -> None:
        saved(store, user("a"))
        with pytest.raises(UsageError, match="invalid session"):
            choose(store, lambda: answer, lambda text: None)

    def test_choose_without_sessions_starts_a_new_one(self, store: SessionStore) -> None:
        written: list[str] = []
        assert choose(store, lambda: "1\n", written.append) is None
        assert "starting a new one" in "".join(written)

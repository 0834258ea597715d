"""The slash popup: listed commands, enter and tab."""

from __future__ import annotations

from tests.unit.frontends.terminal.editor.keyboard import Desk, Keyboard
from zot.frontends.terminal.editor.slash_popup import PopupCommand
from zot.tui.widgets import Choice

COMMANDS = (
    PopupCommand("help", "keys"),
    PopupCommand("login", "log in"),
    PopupCommand("logout", "log out", "[provider]"),
    PopupCommand("sessions", "the list"),
    PopupCommand(
        "session", "operations", "[op]", complete=lambda typed: [Choice("export", "export"), Choice("fork", "fork")]
    ),
    PopupCommand("exit", "leave", aliases=("quit",)),
    PopupCommand("zebra", "from an extension", extension=True),
    PopupCommand("apple", "(fruit)", extension=True),
    PopupCommand("help", "not shown", extension=True),
)


def board() -> Keyboard:
    ui = Desk()
    ui.slash = COMMANDS
    return Keyboard(ui, width=60)


def names(board: Keyboard) -> list[str]:
    """The listed names; the last row shows the keys."""
    *listed, hint = board.popup
    assert "tab" in hint and "esc clears" in hint
    return [row.split()[0] for row in listed]


def test_slash_lists_builtins_then_extensions_by_name() -> None:
    """iface-153: `/` lists the built-in commands in order, then commands of extensions by name."""
    assert names(board().type("/")) == [
        *("/help", "/login", "/logout", "/sessions", "/session", "/exit"),
        *("──", "/apple", "/zebra"),
    ]


def test_an_exact_name_is_preferred_to_a_longer_one() -> None:
    """iface-154: `/session` and enter runs `/session`, not the longer `/sessions`."""
    assert board().type("/session").send() == "/session"


def test_enter_runs_highlighted_command_and_clears_editor() -> None:
    """iface-155: enter runs the command that is highlighted and empties the editor."""
    fingers = board().type("/lo")
    assert fingers.send() == "/login"
    assert fingers.text == "" and fingers.popup == []
    assert fingers.type("/lo").press("down").send() == "/logout"


def test_down_steps_over_the_divider() -> None:
    """iface-153: the down key steps over the divider to the first command of an extension."""
    assert board().type("/").press(*["down"] * 6).send() == "/apple"


def test_upper_case_finds_the_same_commands() -> None:
    """iface-288: commands are found whatever the case that is typed."""
    assert board().type("/HEL").send() == "/help"


def test_tab_writes_name_and_space_if_arguments_may_follow() -> None:
    assert board().type("/hel").press("tab").text == "/help"
    assert board().type("/logo").press("tab").text == "/logout "


def test_escape_empties_the_editor() -> None:
    assert board().type("/lo").press("esc").text == ""


def test_a_path_opens_nothing() -> None:
    """iface-156: text that begins like a path opens no popup and is sent unchanged."""
    fingers = board().type("/usr/bin is what")
    assert fingers.popup == [] and fingers.send() == "/usr/bin is what"


def test_unknown_name_is_sent_unchanged_for_rejection() -> None:
    """iface-157: an unknown command leaves the editor as typed, and the application refuses it."""
    assert board().type("/nope").send() == "/nope"


def test_an_alias_finds_its_command() -> None:
    assert board().type("/qui").send() == "/exit"


def test_arguments_are_completed_by_the_command_itself() -> None:
    fingers = board().type("/session ex")
    assert names(fingers) == ["export"]
    assert fingers.press("tab").text == "/session export"
    assert fingers.popup == []


def test_enter_sends_arguments_as_typed_unless_one_was_chosen() -> None:
    assert board().type("/session ex").send() == "/session ex"
    assert board().type("/session ").press("down").send() == "/session fork"


def test_arguments_keep_their_case() -> None:
    """iface-288: the argument of a command preserves its case."""
    assert board().type("/logout GPT-x").send() == "/logout GPT-x"


def test_command_is_found_by_letters_and_by_description() -> None:
    assert names(board().type("/lgt")) == ["/logout"]
    assert names(board().type("/fruit")) == ["──", "/apple"]
    assert names(board().type("/out"))[0] == "/logout"


def test_single_letter_matches_only_name_prefixes() -> None:
    assert names(board().type("/s")) == ["/sessions", "/session"]
    assert names(board().type("/e")) == ["/exit"]


def test_best_match_is_selected_at_any_position() -> None:
    assert board().type("/app").send() == "/apple"
    assert board().type("/zeb").send() == "/zebra"


def test_guessed_command_is_written_out_before_it_runs() -> None:
    fingers = board().type("/lgt").press("enter")
    assert (fingers.text, fingers.sent) == ("/logout ", [])
    assert fingers.press("backspace").send() == "/logout"
    assert board().type("/lgi").press("enter").text == "/login"


def test_a_guess_that_was_chosen_is_run() -> None:
    assert board().type("/lo").press("down").send() == "/logout"
    assert board().type("/oi").press("down", "up").send() == "/login"

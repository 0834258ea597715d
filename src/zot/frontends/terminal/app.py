"""Creates the parts of the interactive mode: ``App`` those that need no agent, ``arrive`` the others.
keys → ``keymap`` → ``editor`` → ``Submitted`` → ``turns`` → agent → events → ``screen.transcript`` →
``screen.screen``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.slash_commands import parse
from zot.core.events import (
    Diagnostic,
    EntryAdded,
    MessageAppended,
    SessionFault,
    SessionStarted,
    Todos,
    ToolResultEvent,
    UserMessage,
)
from zot.frontends.terminal.commands.command_context import CommandContext, EarlyCommandContext
from zot.frontends.terminal.commands.command_runner import CommandRunner
from zot.frontends.terminal.dialogs.dialog import CONFIRM, Dialogs
from zot.frontends.terminal.editor.editor import Editor, Submitted
from zot.frontends.terminal.editor.editor_host import TerminalEditorHost
from zot.frontends.terminal.extension_ui import TerminalExtensionUI, UserActions
from zot.frontends.terminal.keymap import CustomKeys, KeyActions, Keyboard, Keymap
from zot.frontends.terminal.layout import Layout, Placeholder
from zot.frontends.terminal.screen.activity import Activity
from zot.frontends.terminal.screen.notice_area import Notes, NoticeArea
from zot.frontends.terminal.screen.screen import Screen
from zot.frontends.terminal.screen.status import AgentBar, StartingBar, StatusLine, WindowTitle
from zot.frontends.terminal.screen.theme_manager import ThemeManager
from zot.frontends.terminal.screen.transcript import Transcript
from zot.frontends.terminal.screen.ui_services import ScreenServices, Tasks
from zot.frontends.terminal.sharing import TerminalSharing
from zot.frontends.terminal.turns import PendingTurns, PromptTarget, Spawn, TurnRunner

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.core.agent import Outcome
    from zot.core.events import AgentEvent
    from zot.errors import SessionLocked
    from zot.features.extensions.host import ExtensionHost
    from zot.frontends.terminal.commands.extension_sessions import ExtensionSessions
    from zot.frontends.terminal.editor.extension_completion import CompletionSource
    from zot.frontends.terminal.extensions.editor_additions import EditorAdditions
    from zot.frontends.terminal.extensions.panels import Panels
    from zot.frontends.terminal.options import TerminalOptions
    from zot.frontends.terminal.swarm.workers import WorkerList
    from zot.provider.messages import ImageBlock
    from zot.tui.keys import Key
    from zot.tui.terminal import Terminal

_FOLLOW_S = 0.2  # in which a command shows the session that it opened


class App:
    """``leaving`` is set at the end; ``surface`` is the screen API of extensions. ``is_guest``: a further screen of a
    conversation that another front end built."""

    def __init__(self, options: TerminalOptions, terminal: Terminal, *, is_guest: bool = False) -> None:
        self._options = options
        self._is_guest = is_guest
        self._on_close: list[Callable[[], None]] = []
        self.exit_code = 0
        self.leaving = asyncio.Event()
        self.lost: list[str] = []  # the session notice printed after the terminal is restored
        self._notices: list[Diagnostic] = []  # of the start, shown below the resumed conversation
        self.swarm: WorkerList | None = None  # set with the agent
        self._conversation: Conversation | None = None  # once it is built
        self._closed = False
        self.spawn_turn: Spawn | None = None  # of a guest
        self._sharing = ""  # who else has this conversation, for the status bar
        directory = Path(options.cwd or os.getcwd()).absolute()
        keeps_sessions = options.keep_session

        # Independent services.
        self.screen = Screen(terminal)
        self._notes = Notes()
        self.looks = ThemeManager(terminal, self.screen.invalidate, self._notes, options.theme)
        status = StatusLine(self.screen.invalidate)
        self.tasks = Tasks(status.error, lambda text: self._transcript.error(text))
        self.ui = ui = ScreenServices(terminal, self.screen, self.looks, status, self.tasks)

        # The screen.
        self._activity = Activity()
        self._activity.surfaces = lambda: ui.surfaces
        self._dialogs = Dialogs(
            ui.redraw,
            drafting=lambda: not self._editor.empty,
            type_on=self._type_on,
            ring=lambda: terminal.alert("zot has a question"),
            focused=lambda: terminal.focused,
        )
        self._asking = lambda: bool(self._dialogs.waiting(CONFIRM))
        self._transcript = Transcript(ui, self._notes, self._activity, self._asking)
        self._asides = NoticeArea(status, self._notes)
        self._editor = Editor()
        self._transcript.folded = self._editor.chips.folded
        self._hints = Placeholder()
        self._early = PendingTurns(ui.redraw)
        self.turns: PromptTarget = self._early
        self._layout = self.screen.scene = Layout(
            ui,
            self._dialogs,
            self._editor,
            self._transcript,
            self._asides,
            self._hints,
            turns=self.turns,
            bar=StartingBar(directory),
        )

        # The editor.
        self._commands = CommandRunner(ui, self._editor, self.turns, sessions=keeps_sessions)
        self._keymap = Keymap(
            ui,
            self._dialogs,
            self._editor,
            self._asides,
            self._transcript,
            self.turns,
            KeyActions(self._commands.run, self.leave, self.quit, self.looks.replied),
        )
        self.keyboard = Keyboard(terminal, self._keymap.press, self.screen.key_typed)
        self._around = self._editor.around = TerminalEditorHost(
            ui, self.keyboard, self._commands.popup_commands, directory, keep_history=keeps_sessions
        )
        self._editor.on_submit = self._submit
        self._editor.on_steer = self._steer
        self._commands.early = EarlyCommandContext(
            ui=ui,
            status=status,
            dialogs=self._dialogs,
            asides=self._asides,
            commands=self._commands,
            key_help=self._keymap.help,
            leave=self.quit,
        )

        self.sharing = TerminalSharing(
            self.keyboard, self.show_sharing, self._transcript.add_diagnostic, is_guest=is_guest
        )

        # Extensions.
        self._panels: Panels | None = None
        self._additions: EditorAdditions | None = None
        self._extension_host: Callable[[], ExtensionHost | None] = lambda: None
        self.surface = TerminalExtensionUI(
            ui,
            self._notes,
            self._with_panels,
            self._editor,
            self._with_additions,
            UserActions(
                submit=self._submit_prompt,
                run_command=partial(self._commands.run, typed=False),
                run_queued=lambda: self.turns.run_next(),
                own_commands=lambda: [(command.name, command.summary) for command in self._commands.offered()],
            ),
            self.looks,
            self._around.lend_to_extension,
            lambda: self.leaving.is_set(),
        )
        self.looks.on_change = self.surface.theme_changed

    def resized(self) -> None:
        self.screen.resized()
        self.surface.resized()

    def _with_panels(self) -> Panels:
        """Created with the first panel."""
        if self._panels is None:
            from zot.frontends.terminal.extensions.panels import Panels  # few extensions have panels

            self._panels = self._layout.panels = Panels(self.ui, self._dialogs, lambda: self._extension_host())
        return self._panels

    def _with_additions(self) -> EditorAdditions:
        """Created with the first key, keymap, decoration or completion of an extension."""
        if self._additions is None:
            from zot.frontends.terminal.extensions.editor_additions import EditorActions, EditorAdditions

            run_command = partial(self._commands.run, typed=False)
            actions = EditorActions(
                lambda: self._extension_host(), run_command, self._commands.act, self._keymap.owner_of
            )
            self._additions = EditorAdditions(self.ui, self._editor, actions)
            self._keymap.extensions = self._additions
        return self._additions

    def _completion(self) -> CompletionSource | None:
        """What extensions complete, if any does."""
        host = self._extension_host()
        return self._with_additions().completion if host is not None and host.completes else None

    def _type_on(self, key: Key) -> None:
        self._keymap.forward_to_editor(key)

    def _submit(self, submitted: Submitted) -> None:
        """Runs a slash command or a shell command, or sends a prompt."""
        self._hints.submitted(submitted.text, files=submitted.files, busy=self.turns.busy)
        if submitted.text.startswith("/") and parse(submitted.text) is not None:
            self._commands.run(submitted.text)
        elif submitted.text.startswith("!"):
            self._commands.run_shell(submitted.text[1:])
        else:
            self._submit_prompt(submitted.text, submitted.images)

    def _steer(self, submitted: Submitted) -> None:
        self._hints.steered()
        self.turns.steer(submitted.text, submitted.images)

    def _submit_prompt(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self._commands.submit(text, images)

    def quit(self) -> None:
        """The user quits: if workers run, ask what to do with them."""
        if not self._is_guest and self.swarm is not None and self.swarm.at_work():
            from zot.frontends.terminal.swarm.dashboard import confirm_quit

            self.ui.spawn(confirm_quit(self.swarm, self._dialogs, self.ui, self.leave))
        else:
            self.leave()

    def leave(self, exit_code: int = 0) -> None:
        """End the mode: cancel the turn, save the session, restore the terminal."""
        self.exit_code = self.exit_code or exit_code
        self.leaving.set()

    def on_event(self, event: AgentEvent) -> None:
        """Subscriber of the conversation, from its first diagnostic on."""
        if isinstance(event, SessionFault) and event.lost:
            self.lost.append(event.message)
        if isinstance(event, Diagnostic) and not event.of_extension and not self.turns.ready:
            self._notices.append(event)
        else:
            self._transcript.on_event(event)
        if isinstance(event, Todos):
            self._layout.show_todos(event.items)
        elif isinstance(event, UserMessage) and self._layout.todos is not None:
            self._layout.todos.prompt_begins()
        if isinstance(event, ToolResultEvent) and self.swarm is not None:
            self.swarm.tool_ended()

    async def ask_start_mode(self, config: RunConfig) -> RunConfig:
        from zot.frontends.terminal.start_mode import ask_start_mode

        decided = await ask_start_mode(self._dialogs, self._early, config)
        if decided is not config:
            how = "jailed" if decided.jail else "ask first"
            text = f"start mode of this run: {how}; zot asks again at the next start"
            self._notices.append(Diagnostic(text, level="info"))
        return decided

    async def ask_to_branch(self, config: RunConfig, locked: SessionLocked) -> RunConfig:
        """The session of ``-c`` or ``--session`` is open in another zot: continue in a branch, or raise ``locked``."""
        from zot import __version__
        from zot.core.session.store import SessionStore
        from zot.frontends.terminal.commands.sessions import ask_to_branch
        from zot.system.files import zot_home

        store = SessionStore(config.home or zot_home(), Path(config.cwd or os.getcwd()), __version__)
        branch = await ask_to_branch(self._dialogs, store, locked.path, no="no, quit")
        if branch is None:
            raise locked
        return msgspec.structs.replace(config, session=str(branch), session_file="", continue_session=False)

    # --- once the agent is built

    def attach_conversation(self, conversation: Conversation, partial: Sequence[AgentEvent] = ()) -> None:
        """Create the parts that need the agent, show the resumed conversation, send waiting prompts. ``partial`` are
        events of a turn that runs already."""
        # loaded after the first frame and the first keys
        from zot.features.lookup import extension_host
        from zot.frontends.terminal.startup_questions import ask_startup_questions

        self._conversation, settings = conversation, conversation.settings
        self._on_close.append(conversation.subscribe(self._transcript.on_event, EntryAdded))
        self._on_close.append(conversation.subscribe(self._session_changed, SessionStarted))
        self._on_close.append(conversation.subscribe(self._transcript.mode_noted, MessageAppended))
        if self._is_guest:
            self._on_close.append(conversation.subscribe(self.on_event))
        self._around.agent_arrived(conversation)
        self._extension_host = lambda: extension_host(conversation)
        self._around.completed_by_extensions = self._completion
        self.looks.settings_read(conversation)
        self.ui.spawn(self.looks.watch())
        self._keymap.custom = CustomKeys(settings.values.keymap)
        self._keymap.slots = lambda: settings.values.quick_model_shortcuts
        context = self._make_context(conversation)
        self._show(conversation)
        for event in partial:
            self._transcript.on_event(event)
        self.turns = self._layout.turns = self._keymap.turns = context.turns
        self._commands.agent_arrived(context)
        if not self._is_guest:
            self.ui.spawn(ask_startup_questions(context, resume=self._options.resume, prompt=self._options.prompt))
        for text, images in self._early.submitted_prompts:
            self.turns.submit(text, images)
        self.ui.redraw()

    def _make_context(self, conversation: Conversation) -> CommandContext:
        from zot.frontends.terminal.dialogs.call_details import existing_in
        from zot.frontends.terminal.dialogs.confirm import ApprovalPrompts
        from zot.frontends.terminal.question_host import QuestionHost
        from zot.frontends.terminal.swarm.workers import WorkerList

        ui = self.ui
        attention = WindowTitle(ui.terminal, conversation)
        attention.extra = lambda: ui.surfaces.title if ui.surfaces is not None else ""
        turns = TurnRunner(
            conversation,
            ui,
            self._editor,
            self._transcript,
            self._asides,
            self._activity,
            on_end=attention.turn_ended,
            spawn=self.spawn_turn,
        )
        self._on_close.append(turns.close)
        confirmations = ApprovalPrompts(ui, self._dialogs, conversation, turns.cancel)
        confirmations.existing = existing_in(conversation.workspace)
        questions = QuestionHost(
            conversation,
            ui,
            self._dialogs,
            confirmations,
            self._transcript.add_diagnostic,
            self._around.lend_terminal,
            is_guest=self._is_guest,
        )
        self._on_close.append(lambda: questions.close())
        self.swarm = workers = WorkerList(conversation, ui, self._notes)
        self._layout.bar = AgentBar(
            conversation,
            self._activity,
            attention,
            busy=lambda: turns.busy,
            asking=self._asking,
            mode=lambda: confirmations.mode,
            swarm=workers.status_label,
            sharing=lambda: self._sharing,
        )
        if conversation.settings.values.status_command:
            self._add_status_command(conversation, attention, turns)
        self._keymap.switch_mode = confirmations.switch_mode
        context = CommandContext(
            **msgspec.structs.asdict(self._commands.early),
            conversation=conversation,
            turns=turns,
            transcript=self._transcript,
            editor=self._editor,
            looks=self.looks,
            confirmations=confirmations,
            surface=self.surface,
            swarm=workers,
            sharing=self.sharing,
        )
        self.surface.sessions = lambda: _extension_sessions(context)
        turns.on_failure = lambda outcome: None if self._closed else ui.spawn(_rescue(context, outcome))
        return context

    def show_sharing(self, text: str) -> None:
        """Who else has this conversation on a screen, and who drives."""
        self._sharing = text
        self.ui.redraw()

    def _session_changed(self, event: AgentEvent) -> None:
        """Show the new session, unless a command of this screen does so."""
        conversation = self._conversation
        if conversation is not None and isinstance(event, SessionStarted) and event.reason != "start":
            self.ui.spawn(self._follow(conversation, self._transcript.conversations, event.reason))

    async def _follow(self, conversation: Conversation, shown: int, reason: str) -> None:
        await asyncio.sleep(_FOLLOW_S)
        if self._transcript.conversations == shown:
            from zot.frontends.terminal.commands.sessions import heading  # few screens follow another one

            self._asides.clear()
            self._transcript.clear(heading(reason, conversation.session))
            self._transcript.show(conversation.messages)

    async def close(self) -> None:
        """Leave the conversation to its other front ends."""
        self._closed = True
        for close in self._on_close:
            close()
        self.keyboard.detach()
        if self.swarm is not None:
            await self.swarm.aclose()
        await self.tasks.end()
        self.screen.close()

    def _add_status_command(self, conversation: Conversation, attention: WindowTitle, turns: TurnRunner) -> None:
        from zot.frontends.terminal.screen.status_command import ScriptedBar, StatusCommand

        command = StatusCommand(conversation, attention, lambda: turns.busy, self.ui.redraw)
        self._layout.bar = ScriptedBar(self._layout.bar, command)
        self.ui.spawn(command.run())

    def _show(self, conversation: Conversation) -> None:
        """The resumed conversation and the notices of the start."""
        transcript, messages = self._transcript, conversation.messages
        history = self._editor.history
        self._hints.remember(history.entries(), [str(conversation.workspace.cwd)])
        self._editor.chips.remember(*history.pastes)
        transcript.owner_of = conversation.extension_of
        transcript.context_tokens = lambda: conversation.context_tokens
        transcript.thinking = lambda: (
            "off" if conversation.text_intercepted else conversation.settings.values.show_thinking
        )
        self._keymap.show_in_full = lambda: self.ui.spawn(self._show_in_full(conversation))
        if messages:
            from zot.frontends.terminal.editor.prompt_history import prompts_in

            transcript.show(messages)
            history.begin_with(prompts_in(messages))
        for event in (*self._notices, *map(Diagnostic, self._keymap.custom.problems)):
            transcript.add_diagnostic(event.text, event.level)
        self.screen.holding = False

    async def _show_in_full(self, conversation: Conversation) -> None:
        from zot.frontends.terminal.dialogs.transcript_viewers import ExpandedViewer

        if messages := conversation.messages:
            await self._dialogs.ask(ExpandedViewer(messages, self._transcript.page))


def _extension_sessions(context: CommandContext) -> ExtensionSessions:
    from zot.frontends.terminal.commands.extension_sessions import ExtensionSessions  # few extensions do this

    return ExtensionSessions(context)


async def _rescue(context: CommandContext, outcome: Outcome) -> None:
    from zot.frontends.terminal.failed_turn import recover_failed_turn  # few turns fail

    await recover_failed_turn(context, outcome)

"""What an extension can ask zot for, as methods of ``Extension`` and ``Context``.

In an ``async def`` handler they are awaited; in other handlers they wait and return the result. Against a zot without
the feature they raise ``NotSupported``, and ``RequestError`` or a class of it if zot refuses.
"""

from __future__ import annotations

from zot.ext.errors import RequestError, Unavailable

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal

    from zot.ext import frames
    from zot.ext.lines import Line

    Option = str | tuple[str, str] | Mapping[str, Any]
    OnProgress = Callable[[frames.Progress], Any]

FEATURES = {
    **{"ui": "dialogs", "app": "session", "agent": "agents", "tools": "tools2", "commands": "tools2"},
    **{name: name for name in ("session", "chat", "model", "exec", "terminal", "editor", "settings", "secrets")},
    **{"theme": "theme", "bus": "bus"},
}  # by the first word of a method
KIND_FEATURES = {
    **dict.fromkeys(("status", "widget", "header", "footer", "title", "working", "thinking"), "surfaces"),
    **dict.fromkeys(("border", "decoration", "keymap"), "editor"),
    **{"key": "keys", "completion": "completion", "renderer": "render", "provider": "providers"},
    **{"resource": "resources"},
}


class HostMethods:
    """Thin names for ``request``; the parameters are those of the protocol."""

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Ask zot for anything by its name in the protocol. ``on_progress`` gets the frames before the result."""
        return self._call(method, params or {}, timeout=timeout, on_progress=on_progress)

    def _call(self, method: str, params: Mapping[str, Any], **options: Any) -> Any:
        raise NotImplementedError

    def _decides(self) -> bool:
        """True while an interception is answered: a default must not pass for the user's yes."""
        return False

    # --- dialogs

    def confirm(
        self,
        title: str,
        message: Sequence[Line] | None = None,
        *,
        default: bool | None = None,
        yes: str | None = None,
        no: str | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """Ask yes or no; False if the user closes the dialog. Without a user ``default``, else ``Unavailable``."""
        params = {"message": message, "yes": yes, "no": no, "timeout_s": timeout_s}
        return self._ask("confirm", title, params, default, False)

    def select(
        self,
        title: str,
        options: Sequence[Option],
        message: Sequence[Line] | None = None,
        *,
        default: str | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """The value of one option, None if the user closes the dialog. An option is a value, a pair of value and
        label, or an object with ``value``, ``label``, ``description``, ``group``, ``disabled``."""
        params = {"message": message, "options": _options(options), "timeout_s": timeout_s}
        return self._ask("select", title, params, default, None)

    def choose(
        self,
        title: str,
        options: Sequence[Option],
        message: Sequence[Line] | None = None,
        *,
        default: Sequence[str] | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """The values of several options, None if the user closes the dialog."""
        params = {"message": message, "options": _options(options), "timeout_s": timeout_s}
        return self._ask("choose", title, params, default, None)

    def input(
        self,
        title: str,
        message: Sequence[Line] | None = None,
        *,
        placeholder: str | None = None,
        text: str | None = None,
        default: str | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """A line of text, None if the user closes the dialog."""
        params = {"message": message, "placeholder": placeholder, "text": text, "timeout_s": timeout_s}
        return self._ask("input", title, params, default, None)

    def editor(
        self,
        title: str,
        text: str = "",
        message: Sequence[Line] | None = None,
        *,
        default: str | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """A longer text, None if the user closes the dialog."""
        params = {"message": message, "text": text or None, "timeout_s": timeout_s}
        return self._ask("editor", title, params, default, None)

    def form(
        self,
        title: str,
        fields: Sequence[Mapping[str, Any]],
        message: Sequence[Line] | None = None,
        *,
        default: Mapping[str, Any] | None = None,
        timeout_s: int | None = None,
    ) -> Any:
        """The values by field name, None if the user closes the dialog. A field has ``name`` and ``kind`` (``text``,
        ``number``, ``integer``, ``yes``, ``choice``, ``choices``, ``path``)."""
        params = {"message": message, "fields": list(fields), "timeout_s": timeout_s}
        return self._ask("form", title, params, default, None)

    def open_url(self, title: str, url: str, message: Sequence[Line] | None = None) -> Any:
        """Show an address that the user may open; True if they did."""
        return self._ask("url", title, {"url": url, "message": message}, None, False)

    def _ask(self, kind: str, title: str, params: Mapping[str, Any], default: Any, closed: Any) -> Any:
        def answer(result: Any) -> Any:
            return closed if result.get("cancelled") else result.get("value")

        def failed(error: RequestError) -> Any:
            """``Unavailable`` becomes the default, but nothing that allows what a guard asks about."""
            if default is None or not isinstance(error, Unavailable) or (self._decides() and default is not False):
                raise error
            return default

        asked = {"kind": kind, "title": title, **params, "default": default}
        return self._call("ui.ask", asked, convert=answer, failed=failed)

    # --- conversation

    def send_message(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        role: Literal["user", "context", "note"] = "user",
        deliver: Literal["now", "steer", "queue", "next"] = "now",
        start: bool | None = None,
        type: str | None = None,
        view: Mapping[str, Any] | None = None,
        data: Any = None,
    ) -> Any:
        """Speak into the conversation: as the user's message, as context, or as a note the model never sees."""
        params = {"content": content, "as": role, "deliver": deliver, "start": start}
        return self._call("chat.send", {**params, "type": type, "view": view, "data": data})

    def session_info(self) -> Any:
        """Id, name, model, usage and state of the session."""
        return self._call("session.info", {})

    def entries(
        self,
        *,
        after: str | None = None,
        before: str | None = None,
        limit: int | None = None,
        kinds: Sequence[str] | None = None,
        session_id: str | None = None,
    ) -> Any:
        """A page of the session: ``entries``, and ``next`` if there are more."""
        params = {"after": after, "before": before, "limit": limit, "kinds": kinds, "session_id": session_id}
        return self._call("session.entries", params)

    def sessions(self, words: str | None = None, limit: int | None = None) -> Any:
        """The sessions of this project."""
        return self._call("session.list", {"words": words, "limit": limit}, convert=_key("sessions"))

    def system_prompt(self) -> Any:
        """``text`` of the system prompt, and ``tools``."""
        return self._call("session.system", {})

    def append_entry(self, type: str, data: Any = None, view: Mapping[str, Any] | None = None) -> Any:
        """Store data in the session; the model does not see it. Returns ``entry_id`` and ``saved``."""
        return self._call("session.append", {"type": type, "data": data, "view": view})

    def label(self, entry_id: str, label: str | None) -> Any:
        """Set the label of an entry, or clear it."""
        return self._call("session.label", {"entry_id": entry_id, "label": label})

    def rename(self, name: str) -> Any:
        """Name the session."""
        return self._call("session.name", {"name": name})

    def new_session(
        self,
        *,
        name: str | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        draft: str | None = None,
        prompt: str | None = None,
    ) -> Any:
        """Begin a session, from a command or key of the user."""
        return self._call("session.new", {"name": name, "messages": messages, "draft": draft, "prompt": prompt})

    def switch_session(self, session_id: str) -> Any:
        """Continue another session."""
        return self._call("session.switch", {"session_id": session_id})

    def fork(self, entry_id: str, draft: str | None = None) -> Any:
        """Continue from an entry in a new session."""
        return self._call("session.fork", {"entry_id": entry_id, "draft": draft})

    def rewind(self, entry_id: str, *, files: bool | None = None) -> Any:
        """Go back to an entry, with ``files`` the files too."""
        return self._call("session.rewind", {"entry_id": entry_id, "files": files})

    def compact(self, instructions: str | None = None) -> Any:
        """Summarize the conversation at the end of the step."""
        return self._call("session.compact", {"instructions": instructions})

    def reload(self, name: str | None = None) -> Any:
        """Start this extension again, or another one."""
        return self._call("app.reload", {"name": name})

    def exit(self) -> Any:
        """Leave zot when it is idle."""
        return self._call("app.exit", {})

    # --- models and agents

    def models(self) -> Any:
        """The models the user can choose."""
        return self._call("model.list", {}, convert=_key("models"))

    def model(self) -> Any:
        """``provider``, ``model`` and ``reasoning`` of the session."""
        return self._call("model.get", {})

    def set_model(self, model: str | None = None, reasoning: str | None = None) -> Any:
        """Change the model of the session; returns what holds now."""
        return self._call("model.set", {"model": model, "reasoning": reasoning})

    def call_model(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        system: str | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        reasoning: str | None = None,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        on_text: Callable[[str], Any] | None = None,
    ) -> Any:
        """One model call with zot's login, at the user's cost: ``text``, ``json`` with ``schema``, ``usage``.
        ``on_text`` gets the text while it is written."""
        given: dict[str, Any] = {"prompt": prompt} if isinstance(prompt, str) else {"messages": list(prompt)}
        given |= {"system": system, "model": model, "max_tokens": max_tokens, "reasoning": reasoning}
        given |= {"temperature": temperature, "schema": schema, "stream": True if on_text else None}

        def told(frame: frames.Progress) -> None:
            if on_text and isinstance(frame.data, dict):
                on_text(frame.data.get("text", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  an object

        return self._call("model.call", given, on_progress=told if on_text else None)

    def run_agent(
        self,
        prompt: str,
        *,
        system: str | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        max_steps: int | None = None,
        cwd: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """A sub-agent with the tools and limits of this conversation: ``text``, ``status``, ``steps``, ``usage``."""
        params = {"prompt": prompt, "system": system, "tools": tools, "model": model, "max_steps": max_steps}
        return self._call("agent.run", {**params, "cwd": cwd}, on_progress=on_progress)

    # --- tools and programs

    def tools(self) -> Any:
        """The tools there are, and which are active."""
        return self._call("tools.list", {}, convert=_key("tools"))

    def set_active_tools(self, names: Sequence[str]) -> Any:
        """The tools the model may call from now on."""
        return self._call("tools.active", {"names": list(names)}, convert=_key("active"))

    def run_tool(self, name: str, args: Mapping[str, Any], *, original: bool | None = None) -> Any:
        """Run a tool through guards and permissions; ``original`` runs the built-in this tool took the place of."""
        return self._call("tools.call", {"name": name, "args": dict(args), "original": original})

    def commands(self) -> Any:
        """The slash commands there are."""
        return self._call("commands.list", {}, convert=_key("commands"))

    def run_program(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout_s: int | None = None,
        max_output: int | None = None,
    ) -> Any:
        """Run a program without a shell, as zot's own command: ``code``, ``stdout``, ``stderr``, ``truncated``."""
        params = {"argv": list(argv), "cwd": cwd, "env": env, "stdin": stdin, "timeout_s": timeout_s}
        return self._call("exec.run", {**params, "max_output": max_output})

    def run_in_terminal(self, argv: Sequence[str], *, cwd: str | None = None) -> Any:
        """Give the user's terminal to a program, from a command or key of the user; its exit ``code``."""
        return self._call("terminal.run", {"argv": list(argv), "cwd": cwd}, convert=_key("code"))

    # --- prompt editor, settings, secrets, theme, other extensions

    def editor_text(self) -> Any:
        """``text``, ``cursor`` and ``images`` of the prompt, while a command or key of the user is handled."""
        return self._call("editor.get", {})

    def set_editor(self, text: str, cursor: int | None = None) -> Any:
        """Replace the prompt."""
        return self._call("editor.set", {"text": text, "cursor": cursor})

    def insert_text(self, text: str) -> Any:
        """Put text at the cursor of the prompt."""
        return self._call("editor.insert", {"text": text})

    def set_setting(self, name: str, value: Any) -> Any:
        """Change a setting of this extension."""
        return self._call("settings.set", {"name": name, "value": value})

    def secret(self, name: str | None = None, *, provider: str | None = None) -> Any:
        """``value`` of a secret setting of this extension, or of the user's login at a provider."""
        return self._call("secrets.get", {"name": name, "provider": provider})

    def theme(self) -> Any:
        """``name``, ``base`` and ``roles`` of the theme."""
        return self._call("theme.get", {})

    def themes(self) -> Any:
        """The names of the themes."""
        return self._call("theme.list", {}, convert=_key("themes"))

    def set_theme(self, name: str) -> Any:
        """Change the theme for this run."""
        return self._call("theme.set", {"name": name})

    def publish(self, topic: str, payload: Any = None, *, to: str | None = None) -> Any:
        """Send to extensions that subscribed to ``bus``; the number that get it."""
        return self._call("bus.publish", {"topic": topic, "payload": payload, "to": to}, convert=_key("delivered"))


def feature_of(method: str) -> str:
    return FEATURES.get(method.partition(".")[0], "request")


def _key(name: str) -> Callable[[Any], Any]:
    return lambda result: result.get(name)


def _options(options: Sequence[Option]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for option in options:
        if isinstance(option, str):
            made.append({"value": option})
        elif isinstance(option, tuple):
            made.append({"value": option[0], "label": option[1]})
        else:
            made.append(dict(option))
    return made

"""What an extension answers when zot asks: keys, completion, drawing, providers and state."""

from __future__ import annotations

from zot.ext.context import Context, call

TYPE_CHECKING = False  # as in typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal


class Answers:
    """Registers handlers of zot's requests, and the contributions they belong to."""

    def contribute(self, kind: str, name: str, value: Mapping[str, Any], *, wait: bool = False) -> Any:
        raise NotImplementedError

    def _on_request(self, method: str, name: str, handler: Callable[..., Any]) -> None:
        raise NotImplementedError

    def key(
        self, keys: str | Sequence[str], description: str, *, name: str = "", command: str | None = None
    ) -> Callable[..., Any]:
        """A key of the prompt, such as ``ctrl+alt+p``. It runs a slash ``command``, or the handler, which may take the
        Context and returns what a command returns."""
        chosen = [keys] if isinstance(keys, str) else list(keys)
        named = name or chosen[0].replace("+", "-")
        self.contribute("key", named, {"keys": chosen, "description": description, "command": command})

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            def pressed(params: Mapping[str, Any], context: Context) -> Any:
                from zot.ext.results import response_of

                return response_of(call(handler, context)).keys

            self._on_request("key", named, pressed)
            return handler

        return register

    def completion(
        self, name: str, triggers: Sequence[str], *, description: str | None = None, min_chars: int | None = None
    ) -> Callable[..., Any]:
        """Complete words of the prompt behind a character, such as ``#``. The handler gets the word and returns
        texts, or objects with ``value``, ``label``, ``description``, ``replace``."""
        value = {"triggers": list(triggers), "description": description, "min_chars": min_chars}
        self.contribute("completion", name, value)

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            for trigger in triggers:
                self._on_complete(trigger, handler)
            return handler

        return register

    def renderer(
        self, name: str, match: Sequence[str], *, of: Literal["tool", "message", "entry"] = "tool"
    ) -> Callable[..., Any]:
        """Draw results of tools, or entries. The handler gets the parameters of ``render`` and returns a view, lines,
        or None for zot's own drawing."""
        self.contribute("renderer", name, {"for": of, "match": list(match)})

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            def drawn(params: Mapping[str, Any], context: Context) -> Any:
                made: Any = call(handler, context, params)
                return {"lines": made} if isinstance(made, list) else made  # pyright: ignore[reportUnknownVariableType]  lines

            for each in match:
                self._on_request("render", each, drawn)
            return handler

        return register

    def provider(
        self,
        name: str,
        value: Mapping[str, Any],
        *,
        stream: Callable[..., Any] | None = None,
        login: Callable[..., Any] | None = None,
        renew: Callable[..., Any] | None = None,
        models: Callable[..., Any] | None = None,
    ) -> None:
        """Bring a model provider. ``stream`` gets the parameters of ``provider.stream``; it yields events, such as
        ``{"text": "…"}``, and returns ``{"stop": …, "usage": …}``."""
        given = {**value, "stream": True} if stream else value
        self.contribute("provider", name, given)
        from zot.ext.providing import register

        register(self._on_request, name, stream=stream, login=login, renew=renew, models=models)

    def on_request(self, method: str) -> Callable[..., Any]:
        """Answer a request of zot by its name in the protocol; the handler gets its parameters."""

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            def answer(params: Mapping[str, Any], context: Context) -> Any:
                return call(handler, context, params)

            self._on_request(method, "", answer)
            return handler

        return register

    def on_state_save(self, handler: Callable[[], Any]) -> Callable[[], Any]:
        """Called before a reload; the next process finds the returned value in ``state``."""

        def answer(params: Mapping[str, Any], context: Context) -> Any:
            return {"state": call(handler, context)}

        self._on_request("state.save", "", answer)
        return handler

    def on_panel_resize(self, panel_id: str) -> Callable[..., Any]:
        """Called with width and height when the panel opens and when its size changes."""
        return self._panel_handler("panel_resize", panel_id)

    def on_panel_focus(self, panel_id: str) -> Callable[..., Any]:
        """Called with True when the panel gets the keys, and with False when it loses them."""
        return self._panel_handler("panel_focus", panel_id)

    def _panel_handler(self, kind: str, panel_id: str) -> Callable[..., Any]:
        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            self._on_request(kind, panel_id, handler)
            return handler

        return register

    def _on_complete(self, name: str, handler: Callable[..., Any]) -> None:
        """The handler makes items of the text typed so far: a list, or an object with ``items`` and ``more``."""

        def answer(params: Mapping[str, Any], context: Context) -> Any:
            made = call(handler, context, params.get("text", ""))
            if isinstance(made, dict):
                return made  # pyright: ignore[reportUnknownVariableType]  any object
            return {"items": [{"value": item} if isinstance(item, str) else item for item in made or ()]}

        self._on_request("complete", name, answer)

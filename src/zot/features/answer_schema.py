"""``--output-schema``: the last answer is JSON that matches a schema.
The provider constrains the answer where it can. zot checks it, lets the model correct it twice, then fails the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.feature import Feature, PromptDraft
from zot.core.events import SYNTHETIC
from zot.core.interceptors import Interceptor
from zot.errors import UsageError
from zot.features.json_schema import validate_arguments
from zot.provider.messages import Message, TextBlock
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.services import Services

_CORRECTIONS = 2


class AnswerSchemaFeature(Feature):
    name = "answer_schema"

    @classmethod
    def prepare(cls, services: Services) -> None:
        read_schema(services.config.output_schema, Path(services.config.cwd or "."))

    def join(self) -> None:
        schema = read_schema(self.services.config.output_schema, self.conversation.workspace.cwd)
        self.conversation.agent.output_schema = schema
        self._check = _AnswerCheck(schema)
        self.conversation.agent.add_interceptor(self._check)

    def on_prompt(self, draft: PromptDraft) -> None:
        """The model gets the schema in words also, unless its provider is known to enforce it."""
        self._check.corrections = 0
        if not draft.replaces and not self.conversation.model.structured_output:
            schema = msgspec.json.encode(self.conversation.agent.output_schema).decode()
            text = f"Your last answer must be only JSON that matches this JSON Schema: {schema}"
            self.conversation.add_message(Message("user", (TextBlock(text),), meta={SYNTHETIC: "true"}))

    def answer_problem(self) -> str:
        problem = self._check.problem
        return f"the answer does not match --output-schema: {problem}" if problem else ""


class _AnswerCheck(Interceptor):
    """``problem``: why the last answer does not match, or ""."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self.problem = ""
        self.corrections = 0

    async def before_stop(self, text: str) -> str:
        self.problem = _problem(text, self._schema)
        if not self.problem or self.corrections == _CORRECTIONS:
            return ""
        self.corrections += 1
        schema = msgspec.json.encode(self._schema).decode()
        return f"Your answer does not match the required JSON Schema: {self.problem}. Answer with JSON only: {schema}"


def _problem(text: str, schema: dict[str, Any]) -> str:
    try:
        value = msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return f"not JSON ({error})"
    return validate_arguments(schema, value).replace("the arguments", "the answer")


def read_schema(given: str, directory: Path) -> dict[str, Any]:
    """The schema in a file, or as JSON text. UsageError names what is wrong."""
    text = given
    if not given.lstrip().startswith("{"):
        try:
            text = read_whole(directory / Path(given).expanduser()).decode("utf-8")
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise UsageError(f"--output-schema {given}: {reason}") from error
    where = "--output-schema" if text is given else f"--output-schema {given}"
    try:
        schema = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{where}: expected a JSON Schema object: {error}") from error
    return schema

"""The pages of ``zot.sdk``, ``zot.client`` and ``zot.ext``: signatures and docstrings of the names in ``__all__``."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, get_overloads, is_typeddict

import msgspec

from zot.ext.record import Record

_HEAD = """\
# {title}

<!-- Generated from {source} by `make generate`; do not edit. -->

{about}
"""
_PLAIN = re.compile(r"\b(?:rpc_frames|events|rpc|frames|handlers|msgspec|collections\.abc|typing)\.(?=[A-Z])")
_OURS = re.compile(r"\bzot\.(?:[a-z_]+\.)+")
_GIVEN = ("EventStream", "SyncStream", "PromptStream")  # returned by methods, not created by callers
_INSIDE = ("left",)
_COMMENT = re.compile(r"^    (\w+): (.+?)(?:  # (.*))?$")


def sdk() -> str:
    about = (
        "Every name of `zot.sdk`, the agent in a Python program. [Embedding](../guides/embedding.md) shows how to\n"
        "use it.\n\n"
        "```python\nfrom zot.sdk import Runtime\n```"
    )
    first = ["Runtime", "SyncRuntime", "Options", "EventStream", "SyncStream"]
    return _page("zot.sdk", "Python SDK: zot.sdk", about, first)


def client() -> str:
    about = (
        "Every name of `zot.client`, which drives `zot rpc`, the agent in its own process.\n"
        "[Embedding](../guides/embedding.md#run-the-agent-in-its-own-process) shows how to use it.\n\n"
        "```python\nfrom zot.client import Client\n```"
    )
    return _page(
        "zot.client", "Python client: zot.client", about, ["Client", "SyncClient", "ClientOptions", "PromptStream"]
    )


def extension() -> str:
    about = (
        "Every name of `zot.ext`, for extensions in Python; a starter has the same package as `zot_ext`.\n"
        "[Your first extension](../guides/your-first-extension.md) is the introduction.\n\n"
        "Records, such as `ToolResult`, take their fields by name. `read(fields)` reads one from a decoded JSON\n"
        "object, `fields()` returns the object without defaults, `encode()` one line.\n\n"
        "```python\nfrom zot.ext import Extension\n```"
    )
    return _page("zot.ext", "Python extensions: zot.ext", about, ["Extension", "ToolContext", "Response", "ToolResult"])


def _page(package: str, title: str, about: str, first: list[str]) -> str:
    module = import_module(package)
    names = [*first, *(name for name in module.__all__ if name not in first)]
    source = "src/" + package.replace(".", "/")
    parts = [_HEAD.format(title=title, source=source, about=about)]
    return "\n".join([*parts, *(_entry(module, name) for name in names)])


def _entry(module: ModuleType, name: str) -> str:
    thing = getattr(module, name)
    if is_typeddict(thing):
        return _options(name, thing)
    if inspect.isclass(thing) and issubclass(thing, msgspec.Struct):
        return _struct(name, thing)
    if inspect.isclass(thing):
        return _class(name, thing)
    if inspect.isfunction(thing):
        return f"## {name}\n\n{_code(_signatures(name, thing))}\n\n{_doc(thing)}\n"
    parts = _shown(str(thing)).split(" | ")
    text = f"`{_shown(str(thing))}`" if "[" in parts[0] else f"One of {', '.join(f'`{part}`' for part in parts)}."
    return f"## {name}\n\n{text}\n"


def _class(name: str, kind: type[Any]) -> str:
    parts = [f"## {name}", ""]
    if "__init__" in vars(kind) and not issubclass(kind, BaseException) and name not in _GIVEN:
        parts += [_code(_signatures(name, kind.__init__)), ""]
    parts += [_doc(kind), "", *_record_fields(kind)]
    for member, value in _members(kind):
        if isinstance(value, property):
            returns = _shown(str(value.fget.__annotations__.get("return", "")))
            parts += [f"### {name}.{member}: `{returns}`", "", *_paragraph(value.fget)]
        else:
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            parts += [f"### {name}.{member}", "", _code(_signatures(member, function)), "", *_paragraph(function)]
    return "\n".join(parts)


def _members(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, including those of zot's base classes, in source order."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("zot.") or (base is Record and kind is not Record):
            continue
        for name, value in vars(base).items():
            wanted = callable(value) or isinstance(value, property | classmethod | staticmethod)
            older = inspect.isfunction(value) and value.__name__ != name
            if wanted and not older and not name.startswith("_") and name not in (*seen, *_INSIDE):
                seen.add(name)
                yield name, value


def _record_fields(kind: type[Any]) -> list[str]:
    """A row for each field of a record of the extension protocol."""
    if not issubclass(kind, Record) or not kind.wire_keys:
        return []
    declared: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        declared |= {
            name: text for name, text in vars(base).get("__annotations__", {}).items() if name in kind.wire_keys
        }
    rows: list[str] = []
    for name in kind.wire_keys:
        default = f"`{getattr(kind, name)!r}`" if hasattr(kind, name) else "required"
        rows.append(f"| `{name}` | `{_shown(str(declared[name])).replace('|', chr(92) + '|')}` | {default} |")
    return ["| field | type | default |", "|---|---|---|", *rows, ""]


def _callbacks(kind: type[Any]) -> list[str]:
    """The types of callbacks that the keys of options name."""
    module = import_module(kind.__module__)
    words = dict.fromkeys(re.findall(r"\b[A-Z]\w+", " ".join(map(str, kind.__annotations__.values()))))
    found = [(word, str(getattr(module, word, ""))) for word in words]
    aliases = [(word, _shown(text).replace("'", "")) for word, text in found if "Callable[" in text]
    return [line for word, text in aliases for line in (f"`{word}` is `{text}`.", "")]


def _struct(name: str, kind: type[msgspec.Struct]) -> str:
    rows = [f"| `{field.name}` | `{_declared(kind, field)}` |" for field in msgspec.structs.fields(kind)]
    table = ["| field | type |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([f"## {name}", "", _doc(kind), "", *table])


def _declared(kind: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> str:
    return _shown(str(kind.__annotations__.get(field.name, _named(field.type)))).replace("|", "\\|")


def _options(name: str, kind: type[Any]) -> str:
    """Keys with the comments beside them: the comments are their documentation."""
    rows: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if found := _COMMENT.match(line):
            declared = _shown(found[2]).replace("|", "\\|")
            rows.append(
                f"| `{found[1]}` | `{declared}` | {(found[3] or '').replace('|', chr(92) + '|').replace('``', '`')} |"
            )
    return "\n".join(
        [f"## {name}", "", _doc(kind), "", "| key | type | |", "|---|---|---|", *rows, "", *_callbacks(kind)]
    )


def _signatures(name: str, function: Callable[..., Any]) -> list[str]:
    return [_signature(name, each) for each in get_overloads(function) or [function]]


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    taken = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    words = _shown(str(signature.replace(parameters=taken)).replace("'", ""))
    is_async = inspect.iscoroutinefunction(inspect.unwrap(function))
    return f"{'async ' if is_async else ''}{name}{words.removesuffix(' -> None') if name[0].isupper() else words}"


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _shown(words: str) -> str:
    return _PLAIN.sub("", _OURS.sub("", words)).replace("~", "").replace("+", "")


def _code(lines: list[str]) -> str:
    return "\n".join(["```python", *lines, "```"])


def _paragraph(function: Any) -> list[str]:
    return [_doc(function), ""] if function.__doc__ else []


def _doc(thing: Any) -> str:
    """The docstring as Markdown: examples become code, double backquotes single ones."""
    text = textwrap.dedent(inspect.cleandoc(thing.__doc__ or "")).replace("``", "`")
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        begins = line.startswith(">>>")
        if begins and not inside:
            out.append("```python")
        if inside and not line:
            out.append("```")
        inside = begins or (inside and bool(line))
        out.append(line)
    return "\n".join([*out, "```"] if inside else out)

"""The tools, prompts and resources that the official suite asks a server for, on zot's own engine and transport.
``server.py`` prints its address and serves until it is killed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from zot.frontends.json_rpc import INVALID_PARAMS, Params, RpcError, as_object
from zot.frontends.mcp_server.engine import Engine, require_capability
from zot.frontends.mcp_server.exchange import Exchange
from zot.frontends.mcp_server.http_server import HttpServer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
_NAME: Params = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def text(words: str) -> Params:
    return {"type": "text", "text": words}


def said(words: str) -> Params:
    return {"content": [text(words)]}


def resource(uri: str, mime: str, words: str) -> Params:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


async def log(exchange: Exchange, words: str) -> None:
    if not exchange.client.is_modern:  # a stateless client would have to ask for them with each request
        exchange.notify("notifications/message", {"level": "info", "logger": "test", "data": words})
    await asyncio.sleep(0.05)


async def with_logging(exchange: Exchange, params: Params) -> Params:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await log(exchange, words)
    return said("logged")


async def with_progress(exchange: Exchange, params: Params) -> Params:
    for done in (0, 50, 100):
        exchange.progress("", done, 100)
        await asyncio.sleep(0.05)
    return said("done")


async def sampling(exchange: Exchange, params: Params) -> Params:
    words = str(as_object(params.get("arguments")).get("prompt"))
    asked = {"messages": [{"role": "user", "content": text(words)}], "maxTokens": 100}
    answer = as_object(await exchange.ask("sampling/createMessage", asked))
    return said(f"LLM response: {as_object(answer.get('content')).get('text')}")


async def form(exchange: Exchange, message: str, properties: Params, required: list[str], prefix: str) -> Params:
    schema: Params = {"type": "object", "properties": properties, "required": required}
    answer = await exchange.ask("elicitation/create", {"message": message, "requestedSchema": schema})
    fields = as_object(answer)
    return said(f"{prefix}: action={fields.get('action')}, content={json.dumps(fields.get('content'))}")


async def elicitation(exchange: Exchange, params: Params) -> Params:
    message = str(as_object(params.get("arguments")).get("message"))
    fields = {name: {"type": "string", "description": name} for name in ("username", "email")}
    return await form(exchange, message, fields, list(fields), "User response")


async def defaults(exchange: Exchange, params: Params) -> Params:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await form(exchange, "Please review", fields, [], "Elicitation completed")


async def enums(exchange: Exchange, params: Params) -> Params:
    values = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    fields: Params = {
        "untitledSingle": {"type": "string", "enum": values},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": values}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await form(exchange, "Please choose", fields, [], "Elicitation completed")


# --- questions of a stateless server


def name_wish(message: str, field: str = "name", kind: str = "string") -> tuple[str, Params]:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return "elicitation/create", {"message": message, "requestedSchema": schema}


def sample_wish(words: str, tokens: int = 100) -> tuple[str, Params]:
    return "sampling/createMessage", {"messages": [{"role": "user", "content": text(words)}], "maxTokens": tokens}


async def ask(exchange: Exchange, **wishes: tuple[str, Params]) -> list[Any]:
    return await asyncio.gather(*(exchange.ask(*wish, key=key) for key, wish in wishes.items()))


async def ask_name(exchange: Exchange, params: Params) -> Params:
    (answer,) = await ask(exchange, user_name=name_wish("What is your name?"))
    name = as_object(as_object(answer).get("content")).get("name")
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "inputResponses: user_name has no name")
    return said(f"Hello, {name}!")


async def ask_sampling(exchange: Exchange, params: Params) -> Params:
    (answer,) = await ask(exchange, capital_question=sample_wish("What is the capital of France?"))
    return said(str(as_object(as_object(answer).get("content")).get("text")))


async def ask_roots(exchange: Exchange, params: Params) -> Params:
    (answer,) = await ask(exchange, client_roots=("roots/list", {}))
    return said(json.dumps(as_object(answer).get("roots")))


async def ask_confirm(exchange: Exchange, params: Params) -> Params:
    await ask(exchange, confirm=name_wish("Please confirm", "ok", "boolean"))
    return said("state-ok")


async def ask_several(exchange: Exchange, params: Params) -> Params:
    answers = await ask(
        exchange,
        user_name=name_wish("What is your name?"),
        greeting=sample_wish("Generate a greeting", 50),
        client_roots=("roots/list", {}),
    )
    return said(json.dumps(answers))


async def ask_twice(exchange: Exchange, params: Params) -> Params:
    first = await ask(exchange, step1=name_wish("Step 1: What is your name?"))
    second = await ask(exchange, step2=name_wish("Step 2: What is your favorite color?", "color"))
    return said(json.dumps([first, second]))


async def ask_what_is_possible(exchange: Exchange, params: Params) -> Params:
    able = exchange.client.capabilities
    wishes = {"elicitation": ("name", name_wish("Name?")), "sampling": ("words", sample_wish("Hello"))}
    await ask(exchange, **{key: wish for kind, (key, wish) in wishes.items() if kind in able})
    return said("done")


async def missing_capability(exchange: Exchange, params: Params) -> Params:
    require_capability(exchange.client, "sampling")
    return said("sampling is possible")


async def streaming_elicitation(exchange: Exchange, params: Params) -> Params:
    exchange.progress("asking")
    return await ask_name(exchange, params)


async def fails(exchange: Exchange, params: Params) -> Params:
    return {**said("This tool intentionally returns an error for testing"), "isError": True}


def fixed(*content: Params) -> Any:
    async def answer(exchange: Exchange, params: Params) -> Params:
        return {"content": [*content]}

    return answer


IMAGE: Params = {"type": "image", "data": PNG, "mimeType": "image/png"}
TOOLS: dict[str, Any] = {
    "test_simple_text": fixed(text("This is a simple text response for testing.")),
    "test_image_content": fixed(IMAGE),
    "test_audio_content": fixed({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": fixed(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": fixed(
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_tool_with_logging": with_logging,
    "test_logging_tool": with_logging,
    "test_error_handling": fails,
    "test_tool_with_progress": with_progress,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": enums,
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": ask_sampling,
    "test_input_required_result_list_roots": ask_roots,
    "test_input_required_result_request_state": ask_confirm,
    "test_input_required_result_tampered_state": ask_confirm,
    "test_input_required_result_multiple_inputs": ask_several,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_is_possible,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": streaming_elicitation,
}
ARGUMENTS = {"test_sampling": "prompt", "test_elicitation": "message"}


def described(name: str) -> Params:
    field = ARGUMENTS.get(name)
    schema: Params = {"type": "object", "properties": {field: {"type": "string"}} if field else {}}
    return {"name": name, "description": f"for {name}", "inputSchema": {**schema, "required": [field] if field else []}}


async def list_tools(exchange: Exchange, params: Params) -> Params:
    return {"tools": [described(name) for name in TOOLS]}


async def call_tool(exchange: Exchange, params: Params) -> Params:
    if (run := TOOLS.get(str(params.get("name")))) is None:
        raise RpcError(INVALID_PARAMS, "unknown tool")
    return await run(exchange, params)


# --- prompts and resources


async def list_prompts(exchange: Exchange, params: Params) -> Params:
    arguments = {
        "test_simple_prompt": (),
        "test_prompt_with_arguments": ("arg1", "arg2"),
        "test_prompt_with_embedded_resource": ("resourceUri",),
        "test_prompt_with_image": (),
        "test_input_required_result_prompt": (),
    }
    rows = [
        {
            "name": name,
            "description": f"for {name}",
            "arguments": [{"name": each, "description": each, "required": True} for each in needed],
        }
        for name, needed in arguments.items()
    ]
    return {"prompts": rows}


async def get_prompt(exchange: Exchange, params: Params) -> Params:
    given = as_object(params.get("arguments"))
    match params.get("name"):
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")]
        case "test_prompt_with_embedded_resource":
            words = "Embedded resource content for testing."
            content = [
                resource(str(given.get("resourceUri")), "text/plain", words),
                text("Please process the embedded resource above."),
            ]
        case "test_prompt_with_image":
            content = [IMAGE, text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            (answer,) = await ask(exchange, user_context=name_wish("What context should the prompt use?", "context"))
            content = [text(json.dumps(answer))]
        case _:
            raise RpcError(INVALID_PARAMS, "unknown prompt")
    return {"messages": [{"role": "user", "content": block} for block in content]}


async def complete(exchange: Exchange, params: Params) -> Params:
    return {"completion": {"values": [], "total": 0, "hasMore": False}}


async def list_resources(exchange: Exchange, params: Params) -> Params:
    kinds = {"static-text": "text/plain", "static-binary": "image/png", "watched-resource": "text/plain"}
    return {"resources": [{"uri": f"test://{name}", "name": name, "mimeType": kind} for name, kind in kinds.items()]}


async def list_templates(exchange: Exchange, params: Params) -> Params:
    about = {"name": "template", "description": "for tests", "mimeType": "application/json"}
    return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", **about}]}


async def read_resource(exchange: Exchange, params: Params) -> Params:
    uri = str(params.get("uri"))
    content: Params = {"uri": uri, "mimeType": "text/plain"}
    if uri == "test://static-text":
        content["text"] = "This is the content of the static text resource."
    elif uri == "test://static-binary":
        content |= {"mimeType": "image/png", "blob": PNG}
    elif uri == "test://watched-resource":
        content["text"] = "watched"
    elif uri.startswith("test://template/") and uri.endswith("/data"):
        id = uri.split("/")[3]
        words = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
        content |= {"mimeType": "application/json", "text": words}
    else:
        raise RpcError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    return {"contents": [content]}


async def nothing(exchange: Exchange, params: Params) -> Params:
    return {}


HANDLERS = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "resources/subscribe": nothing,
    "resources/unsubscribe": nothing,
    "logging/setLevel": nothing,
}
CAPABILITIES: Params = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {}}


async def main() -> None:
    server = HttpServer(Engine(HANDLERS, CAPABILITIES))
    await server.start("127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.port}/mcp", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

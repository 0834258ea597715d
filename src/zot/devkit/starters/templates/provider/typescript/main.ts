// __NAME__: a model provider. Try it with `zot --ext . --model __NAME__/echo`; test it with `node --test`.

import { Extension, RequestError } from "./zot-ext/index.ts";

const ext = new Extension("__NAME__", "0.1.0");

const MODELS = [{ id: "echo", name: "Echo", context_window: 32_000, max_output: 4_000 }];

interface Message {
  role: string;
  content: readonly { type: string; text?: string }[];
}

function lastText(messages: readonly Message[]): string {
  const said = messages.filter((message) => message.role === "user").at(-1);
  return (said?.content ?? []).map((block) => block.text ?? "").join(" ");
}

/** One model call: pieces of text, and at the end how it stopped and what it used. It ends when zot cancels it. */
function* stream(call: Record<string, any>): Generator<Record<string, any>> {
  if (!MODELS.some((model) => model.id === call["model"])) throw new RequestError(`no model ${call["model"]}`, "not_found");
  const words = lastText(call["messages"]).toUpperCase().split(/\s+/u).filter(Boolean);
  for (const word of words) yield { text: `${word} ` };
  yield { stop: "end_turn", usage: { input_tokens: words.length, output_tokens: words.length } };
}

ext.provider("__NAME__", { title: "__NAME__", models: MODELS }, { stream });

await ext.run();

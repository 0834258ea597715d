// __NAME__: an extension for zot. Try it with `zot --ext .`; test it with `node --test`.

import { Extension, Response } from "./zot-ext/index.ts";

const ext = new Extension("__NAME__", "0.1.0");

function count(text: string): string {
  const words = text.split(/\s+/u).filter(Boolean).length;
  return `${words} words, ${[...text].length} characters`;
}

ext.tool(
  "__TOOL__",
  "Count the words and characters of a text.",
  { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  ({ text }) => count(text),
);

ext.command("__NAME__", "count the words of a text", (args) =>
  Response.display(args ? count(args) : "usage: /__NAME__ TEXT"),
);

// zot:guard
// Called before every tool call. If it fails, the call is denied.
ext.interceptToolCall((tool, args) => {
  const command = String((args as { command?: unknown }).command ?? "");
  return tool === "bash" && command.includes("rm -rf") ? [false, "refused by __NAME__: rm -rf"] : [true, ""];
});

// zot:end
await ext.run();

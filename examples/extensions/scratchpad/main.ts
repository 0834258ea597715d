// Notes that you and the model share. They live in the extension's data directory and outlast the session.

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Extension, Response, textErrorResult } from "./zot-ext/index.ts";

const ext = new Extension("scratchpad", "1.0.0");
const file = (): string => join(ext.host.data_dir || ".", "notes.txt");

async function notes(): Promise<string[]> {
  const text = await readFile(file(), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

async function add(note: string): Promise<string> {
  await appendFile(file(), `${note.replace(/\s+/gu, " ").trim()}\n`);
  return `noted (${(await notes()).length})`;
}

async function list(): Promise<string> {
  const found = await notes();
  return found.map((note, index) => `${index + 1}. ${note}`).join("\n") || "the scratchpad is empty";
}

ext.command("note", "write something on the scratchpad, or show it", async (args) =>
  Response.display(args ? await add(args) : await list()),
);

ext.command("notes-to-prompt", "put the notes into the editor", async () => Response.insert(await list()));

ext.tool(
  "scratchpad",
  "Notes that outlast the session: add one, list them, or clear them all.",
  {
    type: "object",
    properties: { action: { enum: ["add", "list", "clear"] }, note: { type: "string" } },
    required: ["action"],
  },
  async ({ action, note }) => {
    if (action === "list") return await list();
    if (action === "add") return note?.trim() ? await add(note) : textErrorResult("a note needs some text");
    await writeFile(file(), "");
    return "cleared";
  },
);

await ext.run();

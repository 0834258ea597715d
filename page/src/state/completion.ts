/** What completes the word before the cursor: slash commands, their arguments, files, and words of extensions. */

import type { CompletionItem, FoundFile } from "../wire.ts";
import { offered } from "./composer.ts";
import * as conversation from "./conversation.ts";
import { ofKind } from "./extensions.ts";
import { plainLine, toLine } from "../text/styled.ts";

export interface Suggestion {
  label: string;
  detail: string;
  /** Replaces the text from `from` to the cursor. */
  insert: string;
  from: number;
  /** Whether a choice sends the prompt at once. */
  isWhole?: boolean;
}

const MOST = 30;

export async function complete(text: string, cursor: number): Promise<Suggestion[]> {
  const before = text.slice(0, cursor);
  if (/^\/\S*$/.test(before)) return commandsFor(before.slice(1));
  const command = /^\/(\S+)\s([^]*)$/.exec(before);
  if (command) {
    const found = await argumentsFor(command[1] ?? "", command[2] ?? "", before.length);
    if (found.length) return found;
  }
  const mention = /(?:^|[\s(])@(?:"([^"\n]*)|([^\s"]*))$/.exec(before);
  if (mention) return filesFor(mention[1] ?? mention[2] ?? "", before);
  return wordsFor(before);
}

function commandsFor(typed: string): Suggestion[] {
  const wanted = typed.toLowerCase();
  const rank = (name: string) => (name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : 2);
  return offered()
    .filter((each) => rank(each.name.toLowerCase()) < 2)
    .sort((one, other) => rank(one.name.toLowerCase()) - rank(other.name.toLowerCase()))
    .slice(0, MOST)
    .map((each) => ({
      label: `/${each.name}${each.arguments ? ` ${each.arguments}` : ""}`,
      detail: `${each.description}${each.owner === "page" ? "" : ` · ${each.owner}`}`,
      insert: `/${each.name} `,
      from: 0,
      isWhole: !each.arguments && each.owner === "page",
    }));
}

async function argumentsFor(command: string, args: string, end: number): Promise<Suggestion[]> {
  if (!conversation.commands.value.some((each) => each.name === command && each.extension)) return [];
  const items = await offers({ command, text: args, cursor: args.length });
  return items.map((item) => suggestion(item, end - (item.replace ?? args.length)));
}

async function filesFor(query: string, before: string): Promise<Suggestion[]> {
  const from = before.lastIndexOf("@");
  try {
    const { files } = await conversation.ask<{ files: FoundFile[] }>("find_files", { query, limit: MOST });
    return files.map((file) => {
      const path = file.path + (file.kind === "directory" && !file.path.endsWith("/") ? "/" : "");
      return { label: path, detail: file.kind === "directory" ? "directory" : "", insert: `@${/\s/.test(path) ? `"${path}"` : path} `, from };
    });
  } catch {
    return []; // a server without the command
  }
}

/** Extensions complete words after characters that they chose. */
async function wordsFor(before: string): Promise<Suggestion[]> {
  const triggers = ofKind("completion").flatMap((each) => ((each.value as { triggers?: string[] })?.triggers ?? []));
  const word = /(\S)(\S*)$/.exec(before);
  const trigger = word?.[1] ?? "";
  if (!word || !triggers.includes(trigger)) return [];
  const text = word[2] ?? "";
  const items = await offers({ trigger, text, cursor: text.length, before: before.slice(0, word.index).slice(-1000) });
  return items.map((item) => suggestion(item, before.length - (item.replace ?? text.length + 1)));
}

async function offers(fields: object): Promise<readonly CompletionItem[]> {
  try {
    return (await conversation.ask<{ items: CompletionItem[] }>("ext_complete", fields)).items.slice(0, MOST);
  } catch {
    return [];
  }
}

function suggestion(item: CompletionItem, from: number): Suggestion {
  const label = item.label === undefined ? item.value : plainLine(toLine(item.label));
  return { label, detail: item.description ?? "", insert: item.value, from: Math.max(from, 0) };
}

/** A tool call in a few words, its arguments as text, and the change of a file that it makes. */

import type { ToolEntry } from "../state/transcript.ts";
import { type Diff, diffTexts, parseUnified } from "./diff.ts";

export interface Summary {
  verb: string;
  subject: string;
}

const VERBS: Record<string, string> = {
  ...{ bash: "Run", read: "Read", write: "Write", edit: "Edit", glob: "Find", grep: "Search", jobs: "Jobs", skill: "Skill" },
  ...{ web_fetch: "Fetch", web_search: "Search the web", ask_user: "Ask", todo: "Steps", present_plan: "Plan" },
};
const SUBJECTS = ["command", "path", "file_path", "pattern", "query", "url", "name", "task", "prompt", "description"];
const LONGEST = 300;

export function summaryOf(entry: Pick<ToolEntry, "name" | "args" | "written">): Summary {
  const args = fieldsOf(entry.args);
  const verb = VERBS[entry.name] ?? entry.name;
  if (!args) return { verb, subject: beginningOf(entry.written) };
  const first = Array.isArray(args["questions"]) ? (args["questions"][0] as { question?: unknown } | undefined) : undefined;
  if (typeof first?.question === "string") return { verb, subject: first.question.slice(0, LONGEST) };
  if (Array.isArray(args["items"])) return { verb, subject: `${args["items"].length} steps` };
  if (typeof args["plan"] === "string") return { verb, subject: args["plan"].slice(0, LONGEST).split("\n")[0] ?? "" };
  const found = SUBJECTS.map((key) => args[key]).find((value) => typeof value === "string" && value);
  return { verb, subject: String(found ?? compact(args)).slice(0, LONGEST) };
}

/** The first text of arguments that still arrive. */
function beginningOf(written: string): string {
  const found = /"(?:command|path|file_path|pattern|query|url|name|task)"\s*:\s*"((?:[^"\\]|\\.){0,300})/.exec(written.slice(0, 4_000));
  if (!found) return "";
  try {
    return JSON.parse(`"${found[1]}"`) as string;
  } catch {
    return found[1] ?? "";
  }
}

function compact(args: Record<string, unknown>): string {
  const text = JSON.stringify(args);
  return text === "{}" ? "" : text;
}

function fieldsOf(args: unknown): Record<string, unknown> | null {
  return typeof args === "object" && args !== null && !Array.isArray(args) ? (args as Record<string, unknown>) : null;
}

/** The whole arguments and the language to colour them in. A command alone is a script. */
export function argumentsOf(entry: Pick<ToolEntry, "args" | "written">): [string, string] {
  const args = fieldsOf(entry.args);
  if (!args) return [entry.args === null || entry.args === undefined ? entry.written : JSON.stringify(entry.args), "json"];
  if (typeof args["command"] === "string" && Object.keys(args).length === 1) return [args["command"], "bash"];
  const text = Object.keys(args).length ? JSON.stringify(args, null, 2) : "";
  return [text, "json"];
}

export interface Change extends Diff {
  path: string;
}

/** What an `edit` or `write` changes, from its arguments; null for other tools. */
export function changesOf(entry: Pick<ToolEntry, "name" | "args">): Change | null {
  return changeIn(entry.name, entry.args);
}

const cache = new WeakMap<object, Change | null>();

export function changeIn(name: string, args: unknown): Change | null {
  const fields = fieldsOf(args);
  if (!fields || typeof fields["path"] !== "string") return null;
  const known = cache.get(fields);
  if (known !== undefined) return known;
  const found = name === "write" ? written(fields) : name === "edit" ? edited(fields) : null;
  const change = found && { ...found, path: fields["path"] };
  cache.set(fields, change);
  return change;
}

function written(fields: Record<string, unknown>): Diff | null {
  return typeof fields["content"] === "string" ? diffTexts("", fields["content"]) : null;
}

function edited(fields: Record<string, unknown>): Diff | null {
  if (typeof fields["diff"] === "string") return parseUnified(fields["diff"], "file")[0] ?? null;
  if (!Array.isArray(fields["edits"])) return null;
  const whole: Diff = { rows: [], added: 0, removed: 0 };
  for (const edit of fields["edits"] as Record<string, unknown>[]) {
    if (typeof edit?.["oldText"] !== "string" || typeof edit["newText"] !== "string") return null;
    const part = diffTexts(edit["oldText"], edit["newText"]);
    for (const row of part.rows) {
      delete row.old; // the place of the piece in the file is not known
      delete row.new;
    }
    if (whole.rows.length) whole.rows.push({ kind: "gap", text: "…" });
    whole.rows.push(...part.rows);
    whole.added += part.added;
    whole.removed += part.removed;
  }
  return whole;
}

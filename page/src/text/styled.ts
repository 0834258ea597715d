/** Lines of extensions (src/zot/wire/lines.py): text with roles, attributes and colours, and SGR within the text. */

import { safeLink } from "./visible.ts";

export interface StyledSpan {
  text: string;
  roles: string[];
  attributes: string[];
  fg: string;
  bg: string;
  link: string;
  fill: boolean;
}

export type StyledLine = StyledSpan[];

export interface StyledView {
  title: StyledLine;
  lines: StyledLine[];
  expanded: StyledLine[];
  isMarkdown: boolean;
}

const MOST_LINES = 500;
const MOST_CHARS = 4096;
const MOST_SPANS = 256;
const ROLES = new Set(
  "fg muted accent tool success warning error heading code link user selection diff_add diff_remove".split(" "),
);
const ATTRIBUTES = new Set("bold dim italic underline strike reverse".split(" "));
const HEX = /^#[0-9a-f]{6}$/i;
const HOSTILE = /[\u0000-\u0008\u000a-\u001a\u001c-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const ESCAPE = /\x1b(?!\[[0-9;:]*m)(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^]*?(?:\x1b\\|\x07|$)|.?)/g;
const SGR = /\x1b\[([0-9;:]*)m/;

export function toLine(value: unknown): StyledLine {
  if (typeof value === "string") return coloured(clean(value.slice(0, MOST_CHARS)), {});
  if (value === null || value === undefined) return [];
  const items = Array.isArray(value) ? value : typeof value === "object" ? [value] : [String(value)];
  const line: StyledLine = [];
  let room = MOST_CHARS;
  for (const item of items.slice(0, MOST_SPANS)) {
    const fields = typeof item === "object" && item !== null ? (item as Record<string, unknown>) : { text: item };
    const text = clean(typeof fields["text"] === "string" ? fields["text"].slice(0, room) : "");
    if (text) line.push(...coloured(text, fields, line.some((span) => span.fill)));
    room -= text.length;
    if (room <= 0) break;
  }
  return line;
}

export function toLines(value: unknown, most = MOST_LINES): StyledLine[] {
  const items = typeof value === "string" ? value.split("\n") : value;
  if (!Array.isArray(items)) return items === null || items === undefined ? [] : [toLine(items)];
  return items.slice(0, most).map(toLine);
}

export function toView(value: unknown): StyledView | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const fields = value as Record<string, unknown>;
  const lines = toLines(fields["lines"]);
  const expanded = toLines(fields["expanded"]);
  if (!lines.length && !expanded.length) return null;
  return { title: toLine(fields["title"]), lines, expanded, isMarkdown: fields["markdown"] === true };
}

export function plainLine(line: StyledLine): string {
  return line.map((span) => span.text).join("");
}

function clean(text: string): string {
  return text.replace(ESCAPE, "").replace(/\t/g, "    ").replace(HOSTILE, "\ufffd");
}

function words(value: unknown, known: Set<string>): string[] {
  return typeof value === "string" ? value.split(/\s+/).filter((word) => known.has(word)) : [];
}

function colour(value: unknown): string {
  return typeof value === "string" && (ROLES.has(value) || HEX.test(value)) ? value : "";
}

function coloured(text: string, fields: Record<string, unknown>, isFilled = false): StyledLine {
  const base: StyledSpan = {
    text,
    roles: words(fields["style"], ROLES),
    attributes: words(fields["style"], ATTRIBUTES),
    fg: colour(fields["fg"]),
    bg: colour(fields["bg"]),
    link: typeof fields["link"] === "string" ? safeLink(fields["link"]) : "",
    fill: fields["fill"] === true && !isFilled,
  };
  return text.includes("\x1b[") ? sgrSpans(text, base) : [base];
}

/** The escapes of a text become styles of the spans between them. */
function sgrSpans(text: string, base: StyledSpan): StyledLine {
  const spans: StyledLine = [];
  let style = base;
  text.split(SGR).forEach((part, number) => {
    if (number % 2) style = applySgr(part, style, base);
    else if (part) spans.push({ ...style, text: part });
  });
  return spans;
}

const CODES: Record<number, string> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike" };
const ENDS: Record<number, string[]> = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["reverse"], 29: ["strike"] };

function applySgr(codes: string, style: StyledSpan, base: StyledSpan): StyledSpan {
  const numbers = codes.split(/[;:]/).map(Number);
  let next: StyledSpan = { ...style, attributes: [...style.attributes] };
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    const word = CODES[code];
    if (code === 0) next = { ...base, attributes: [...base.attributes] };
    else if (word) next.attributes.push(word);
    else if (ENDS[code]) next.attributes = next.attributes.filter((each) => !ENDS[code]?.includes(each));
    else if (code === 39) next.fg = base.fg;
    else if (code === 49) next.bg = base.bg;
    else if (code === 38 || code === 48) {
      const [found, used] = extended(numbers.slice(at + 1));
      at += used;
      if (found) next[code === 38 ? "fg" : "bg"] = found;
    } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) next.fg = indexed(code % 10 + (code >= 90 ? 8 : 0));
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) next.bg = indexed(code % 10 + (code >= 100 ? 8 : 0));
  }
  return next;
}

function extended(rest: number[]): [string, number] {
  if (rest[0] === 5) return [indexed(rest[1] ?? 0), 2];
  if (rest[0] !== 2) return ["", 0];
  return [hex(rest[1] ?? 0, rest[2] ?? 0, rest[3] ?? 0), 4];
}

const BASIC = "000000 cd3131 0dbc79 b8a011 2472c8 bc3fbc 11a8cd cccccc 767676 f14c4c 23d18b d7c21f 3b8eea d670d6 29b8db f2f2f2".split(" ");

/** A colour of the table of 256. */
export function indexed(number: number): string {
  if (number < 16) return `#${BASIC[number] ?? "cccccc"}`;
  if (number >= 232) return hex(...(Array(3).fill(8 + (Math.min(number, 255) - 232) * 10) as [number, number, number]));
  const level = (value: number) => (value ? 55 + value * 40 : 0);
  const cube = number - 16;
  return hex(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function hex(red: number, green: number, blue: number): string {
  return `#${[red, green, blue].map((each) => Math.min(each & 255, 255).toString(16).padStart(2, "0")).join("")}`;
}

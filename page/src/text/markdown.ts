/** Markdown as blocks of tokens. While text arrives only its last block is read again; nothing here makes HTML. */

import { Lexer, type Token, type TokensList } from "marked";

export type { Token, Tokens } from "marked";

export interface MarkdownBlock {
  id: number;
  raw: string;
  token: Token;
}

const LONGEST_INLINE = 8_000; // characters of a paragraph; a longer one is plain text
const SLOW_MS = 10; // of reading; then a text that grows is read less often
const LONGEST = 400_000; // characters of a text; a longer one is plain text
const DEEPEST = 60; // block quotes within each other
const QUOTES = new RegExp(`^[ \\t]*(?:>[ \\t]?){${DEEPEST},}`, "gm");
const NESTED = /^[ \t]{200,}/gm;

/** The blocks of a text that only grows; a text that changed otherwise is read from the start. */
export class MarkdownReader {
  #text = "";
  #blocks: MarkdownBlock[] = [];
  #start = 0; // of the last block in the text
  #id = 0;
  #cost = 0;
  #isSplit = false;

  read(text: string, isLive = false): MarkdownBlock[] {
    if (text === this.#text) return this.#blocks;
    if (isLive && this.#cost > SLOW_MS && text.length < this.#text.length * 1.2) return this.#blocks;
    const began = performance.now();
    this.#read(text);
    this.#cost = performance.now() - began;
    return this.#blocks;
  }

  #read(text: string): void {
    const grows = this.#isSplit && this.#blocks.length > 1 && text.startsWith(this.#text);
    const from = grows ? this.#start : 0;
    const kept = grows ? this.#blocks.slice(0, -1) : [];
    const id = grows ? (this.#blocks[this.#blocks.length - 1]?.id ?? 0) : 0;
    this.#text = text;
    this.#id = id;
    const fresh = lex(text.slice(from)).map((token) => ({ id: this.#id++, raw: token.raw, token }));
    this.#blocks = [...kept, ...fresh];
    const last = fresh[fresh.length - 1];
    this.#start = last ? text.length - last.raw.length : text.length;
    // Where the reader changed the text (line ends, tabs) positions are unknown: the next text is read from the start.
    this.#isSplit = last !== undefined && text.slice(this.#start) === last.raw;
  }
}

/** Top-level tokens. Hostile text ends as one plain token, never as an error. */
export function lex(text: string): Token[] {
  if (text.length > LONGEST) return [plain(text)];
  try {
    const lexer = new Lexer({ gfm: true, breaks: false });
    const clean = text.replace(/\r\n?/g, "\n").replace(QUOTES, "> ").replace(NESTED, " ".repeat(40));
    lexer.blockTokens(clean, lexer.tokens);
    for (let at = 0; at < lexer.inlineQueue.length; at++) {
      const next = lexer.inlineQueue[at];
      if (!next) continue;
      if (next.src.length > LONGEST_INLINE) next.tokens.push(plain(next.src));
      else lexer.inlineTokens(next.src, next.tokens);
    }
    return dropSpaces(lexer.tokens);
  } catch {
    return [plain(text)];
  }
}

function dropSpaces(tokens: TokensList): Token[] {
  const kept: Token[] = [];
  for (const token of tokens) {
    const last = kept[kept.length - 1];
    if (token.type === "space" && last) last.raw += token.raw;
    else if (token.type !== "space") kept.push(token);
  }
  return kept;
}

function plain(text: string): Token {
  return { type: "text", raw: text, text, escaped: false };
}

const ENTITIES: Record<string, string> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", hellip: "…" },
  ...{ mdash: "—", ndash: "–", larr: "←", rarr: "→", times: "×", middot: "·", bull: "•", check: "✓" },
};

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name as string] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
    return code > 31 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

/** Code in colours, as pieces of text with a class: the tree of highlight.js is read, its HTML is never used. */

import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = {
  ...{ bash, c, cpp, css, diff, dockerfile, go, ini, java, javascript, json, makefile, markdown, python, ruby },
  ...{ rust, sql, typescript, xml, yaml },
};
for (const [name, grammar] of Object.entries(LANGUAGES)) core.registerLanguage(name, grammar);

const MOST = 60_000; // characters; longer code stays plain
const BY_SUFFIX: Record<string, string> = {
  ...{ h: "c", hpp: "cpp", cc: "cpp", kt: "java", mk: "makefile", html: "xml", svg: "xml", vue: "xml", toml: "ini" },
  ...{ tsx: "typescript", jsx: "javascript", mjs: "javascript", zsh: "bash", sh: "bash", cfg: "ini", jsonl: "json" },
};

export interface Span {
  text: string;
  scope: string;
}

interface Node {
  scope?: string;
  language?: string;
  children: (Node | string)[];
}

/** The name of a language that is known, or nothing. */
export function language(name: string): string {
  const word = name.toLowerCase().trim();
  const known = BY_SUFFIX[word] ?? word;
  return core.getLanguage(known) ? known : "";
}

export function languageOfPath(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "makefile" || name === "dockerfile") return name;
  return name.includes(".") ? language(name.slice(name.lastIndexOf(".") + 1)) : "";
}

/** Pieces of the code in order; one plain piece if the language is unknown or the code too long. */
export function highlight(code: string, name: string): Span[] {
  const known = code.length <= MOST ? language(name) : "";
  if (!known) return [{ text: code, scope: "" }];
  try {
    const result = core.highlight(code, { language: known, ignoreIllegals: true });
    const spans: Span[] = [];
    walk((result as unknown as { _emitter: { rootNode: Node } })._emitter.rootNode, "", spans);
    return spans;
  } catch {
    return [{ text: code, scope: "" }];
  }
}

/** The same, cut at line breaks. */
export function highlightLines(code: string, name: string): Span[][] {
  const lines: Span[][] = [[]];
  for (const span of highlight(code, name)) {
    span.text.split("\n").forEach((text, number) => {
      if (number) lines.push([]);
      if (text) lines[lines.length - 1]?.push({ text, scope: span.scope });
    });
  }
  return lines;
}

function walk(node: Node, scope: string, spans: Span[]): void {
  const own = node.scope && !node.language ? (node.scope.split(".")[0] ?? scope) : scope;
  for (const child of node.children) {
    if (typeof child !== "string") walk(child, own, spans);
    else if (child) spans.push({ text: child, scope: own });
  }
}

/** A tool call: one line that says what it does, and below it, folded, its arguments, changes and output. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { requests } from "../state/requests.ts";
import { opensTools } from "../state/settings.ts";
import type { ToolEntry } from "../state/transcript.ts";
import { toView } from "../text/styled.ts";
import { View } from "../text/styled_view.tsx";
import { cleanOutput } from "../text/visible.ts";
import { argumentsOf, changesOf, type Summary, summaryOf } from "../text/tool_summary.ts";
import { Coloured, CopyButton, Fold } from "./code.tsx";
import { DiffView } from "./diff_view.tsx";
import { Images } from "./images.tsx";
import { Visible } from "./visible_text.tsx";

const OPEN_NAMES = new Set(["edit", "write"]);
const TAIL_LINES = 12; // of a running tool
const FIRST_LINES = 400;
const FIRST_CHARS = 60_000;
const STEP_CHARS = 400_000;

const STATES: Record<string, string> = {
  writing: "is written",
  waiting: "waits",
  running: "runs",
  done: "done",
  failed: "failed",
};

export function ToolCall({ entry }: { entry: ToolEntry; change: number }): VNode {
  const summary = summaryOf(entry);
  const isAsked = requests.value.some((each) => "tool_id" in each && each.tool_id === entry.call);
  const isOpen = entry.isOpen ?? (!isAsked && opensItself(entry));
  const redraw = useSignal(0);
  redraw.value;
  const toggle = () => {
    entry.isOpen = !isOpen;
    redraw.value++;
  };
  const state = isAsked ? "waits for approval" : (STATES[entry.status] ?? entry.status);
  return (
    <article class={`entry tool ${isAsked ? "asked" : entry.status}`} aria-label={`Tool ${entry.name}, ${state}`}>
      <Fold summary={<Head entry={entry} summary={summary} state={state} />} open={isOpen} onToggle={toggle}>
        <Body entry={entry} />
      </Fold>
      {!isOpen && entry.status === "running" && entry.output && <Tail text={entry.output} />}
      {!isOpen && <Images images={entry.images} tool={entry.call} />}
    </article>
  );
}

function opensItself(entry: ToolEntry): boolean {
  return opensTools.value === "yes" || (OPEN_NAMES.has(entry.name) && entry.status !== "writing");
}

function Head({ entry, summary, state }: { entry: ToolEntry; summary: Summary; state: string }): VNode {
  const changes = entry.status === "writing" ? null : changesOf(entry);
  return (
    <span class="tool-head">
      <span class="glyph" aria-hidden="true" />
      <strong>{summary.verb}</strong>
      <span class="subject"><Visible text={summary.subject} oneLine /></span>
      {changes && <Counts added={changes.added} removed={changes.removed} />}
      {entry.fraction !== null && <progress max={1} value={entry.fraction} aria-label="progress" />}
      {entry.status !== "done" && <span class="state">{state}</span>}
    </span>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }): VNode {
  return (
    <span class="counts">
      {added > 0 && <span class="role-diff_add">+{added.toLocaleString("en")}</span>}
      {removed > 0 && <span class="role-diff_remove">−{removed.toLocaleString("en")}</span>}
    </span>
  );
}

function Tail({ text }: { text: string }): VNode {
  const lines = cleanOutput(text.slice(-8_000)).trimEnd().split("\n").slice(-TAIL_LINES);
  return <pre class="output tail" tabIndex={0} aria-label="Live output">{lines.join("\n")}</pre>;
}

function Body({ entry }: { entry: ToolEntry }): VNode {
  const changes = changesOf(entry);
  const view = entry.view ? toView(entry.view) : null;
  return (
    <>
      <Arguments entry={entry} hasChanges={changes !== null} />
      {changes && <DiffView diff={changes} path={changes.path} />}
      {view ? <View view={view} expanded={true} /> : (!changes || entry.status === "failed") && <Output entry={entry} />}
      <Images images={entry.images} tool={entry.call} />
      {entry.decidedBy && entry.decidedBy !== "you" && <p class="muted small">decided by: {entry.decidedBy}</p>}
    </>
  );
}

function Arguments({ entry, hasChanges }: { entry: ToolEntry; hasChanges: boolean }): VNode | null {
  if (hasChanges && entry.status !== "failed") return null;
  const [text, language] = argumentsOf(entry);
  if (!text) return null;
  return (
    <Labelled label={language === "bash" ? "Command" : "Arguments"} text={text}>
      <pre class="arguments" tabIndex={0}><Coloured code={text} language={language} /></pre>
    </Labelled>
  );
}

function Output({ entry }: { entry: ToolEntry }): VNode | null {
  if (!entry.output) return null;
  return (
    <Labelled label={entry.status === "running" ? "Output so far" : entry.status === "failed" ? "Error" : "Output"} text={entry.output}>
      <LongText text={entry.output} fromEnd={entry.status === "running"} />
    </Labelled>
  );
}

function Labelled({ label, text, children }: { label: string; text: string; children: ComponentChildren }): VNode {
  return (
    <section class="labelled" aria-label={label}>
      <div class="label">
        <span>{label}</span>
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
      {children}
    </section>
  );
}

/** A text of any size: a part of it is drawn, more on request. */
export function LongText({ text, fromEnd = false }: { text: string; fromEnd?: boolean }): VNode {
  const shown = useSignal(FIRST_CHARS);
  let part = fromEnd ? text.slice(-shown.value) : text.slice(0, shown.value);
  if (shown.value === FIRST_CHARS) {
    const lines = part.split("\n");
    if (lines.length > FIRST_LINES) part = (fromEnd ? lines.slice(-FIRST_LINES) : lines.slice(0, FIRST_LINES)).join("\n");
  }
  const hidden = text.length - part.length;
  const more = hidden > 0 && (
    <button type="button" class="quiet" onClick={() => (shown.value = Math.max(shown.value, part.length) + STEP_CHARS)}>
      Show more ({hidden.toLocaleString("en")} characters)
    </button>
  );
  return (
    <>
      {fromEnd && more}
      <pre class="output" tabIndex={0}>{cleanOutput(part)}</pre>
      {!fromEnd && more}
    </>
  );
}

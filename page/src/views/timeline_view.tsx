/** The inspector: every frame of the server and, while it watches, of extensions; with filter and details. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as conversation from "../state/conversation.ts";
import * as timeline from "../state/timeline.ts";
import { save } from "../net/access.ts";
import { size } from "./images.tsx";
import { CopyButton } from "./code.tsx";
import { LongText } from "./tool_call.tsx";

const SHOWN = 300; // newest rows that match
const REDRAW_MS = 150;
const DELTAS = new Set(["text_delta", "thinking_delta", "tool_use_args", "tool_progress"]);

export function TimelineView(): VNode {
  const filter = useSignal("");
  const hasDeltas = useSignal(false);
  const isPaused = useSignal(false);
  const fault = useSignal("");
  const chosen = useSignal<timeline.Row | null>(null);
  const redraw = useThrottled(isPaused.value);
  redraw.value;
  const watches = async (on: boolean) => (fault.value = await timeline.watch(conversation.ask, on));
  useEffect(() => {
    void watches(true);
    return () => {
      if (timeline.isWatching.value) void timeline.watch(conversation.ask, false);
    };
  }, []);
  const rows = matching(filter.value, hasDeltas.value);
  const shown = rows.slice(-SHOWN).reverse();
  return (
    <div class="timeline">
      <div class="timeline-bar">
        <input type="search" id="timeline-filter" aria-label="Filter events" placeholder="Filter: kind, extension, text" value={filter} onInput={(event) => (filter.value = event.currentTarget.value)} />
        <label class="check"><input type="checkbox" checked={hasDeltas} onChange={(event) => (hasDeltas.value = event.currentTarget.checked)} /> pieces of text</label>
        <label class="check"><input type="checkbox" checked={timeline.isWatching} onChange={(event) => void watches(event.currentTarget.checked)} /> extension frames</label>
        <label class="check"><input type="checkbox" checked={isPaused} onChange={(event) => (isPaused.value = event.currentTarget.checked)} /> pause</label>
        <span class="muted small">{`${rows.length.toLocaleString("en")} events`}</span>
        <button type="button" class="quiet" onClick={() => saveRows(rows)}>Save</button>
        <button type="button" class="quiet" onClick={timeline.reset}>Clear</button>
      </div>
      {fault.value && <p class="muted small timeline-fault">{`Extension frames are not shown: ${fault.value}`}</p>}
      <div class={chosen.value ? "timeline-split has-detail" : "timeline-split"}>
        <div class="timeline-rows" tabIndex={0} role="region" aria-label="Events, newest first">
          <table>
            <thead>
              <tr><th scope="col">Time</th><th scope="col">From</th><th scope="col">Event</th><th scope="col" class="number">Size</th></tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.id} class={chosen.value?.id === row.id ? "chosen" : ""} onClick={() => (chosen.value = row)}>
                  <td class="time">{clock(row.at)}</td>
                  <td>{row.source ? `${row.direction === "in" ? "→" : "←"} ${row.source}` : "zot"}</td>
                  <td>
                    <button type="button" class="event-name" onClick={() => (chosen.value = row)}>{row.kind}</button>
                    <span class="event-gist">{gist(row)}</span>
                  </td>
                  <td class="number">{size(row.size)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {!shown.length && <p class="muted">No event matches.</p>}
        </div>
        {chosen.value && <Detail row={chosen.value} onClose={() => (chosen.value = null)} />}
      </div>
    </div>
  );
}

/** A signal that rises at most a few times a second, and not while paused. */
function useThrottled(isPaused: boolean): { value: number } {
  const count = useSignal(0);
  const seen = useRef(-1);
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      if (timeline.change.value === seen.current) return;
      seen.current = timeline.change.value;
      count.value++;
    }, REDRAW_MS);
    return () => clearInterval(timer);
  }, [isPaused]);
  return count;
}

function matching(filter: string, hasDeltas: boolean): timeline.Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word);
  return timeline.rows.filter((row) => {
    if (!hasDeltas && DELTAS.has(row.kind)) return false;
    if (!words.length) return true;
    const head = `${row.kind} ${row.source} ${row.direction}`.toLowerCase();
    return words.every((word) => head.includes(word) || (row.size < 20_000 && textOf(row).includes(word)));
  });
}

const texts = new WeakMap<timeline.Row, string>();

function textOf(row: timeline.Row): string {
  let text = texts.get(row);
  if (text === undefined) texts.set(row, (text = JSON.stringify(row.frame).toLowerCase()));
  return text;
}

const GIST = ["preview", "message", "delta", "text", "name", "status", "error", "method", "event", "stop", "title", "id"];

function gist(row: timeline.Row): string {
  const frame = row.frame as Record<string, unknown>;
  const key = GIST.find((each) => typeof frame?.[each] === "string" && frame[each] !== "");
  const text = key ? String(frame[key]).slice(0, 160).replace(/\s+/g, " ") : "";
  return row.latency === null ? text : `${text} · ${row.latency} ms`;
}

function clock(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function saveRows(rows: timeline.Row[]): void {
  const lines = rows.map((row) => JSON.stringify({ t: row.at, source: row.source, direction: row.direction, frame: row.frame }));
  save(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }), "timeline.jsonl");
}

function Detail({ row, onClose }: { row: timeline.Row; onClose: () => void }): VNode {
  const text = JSON.stringify(row.frame, null, 2);
  return (
    <section class="detail" aria-label={`Event ${row.kind}`}>
      <header>
        <h2>{row.kind}</h2>
        <span class="muted small">{`${clock(row.at)} · ${size(row.size)}`}</span>
        <span class="grow" />
        <CopyButton text={text} label="Copy event" />
        <button type="button" class="quiet" onClick={onClose}>Close</button>
      </header>
      <LongText key={row.id} text={text} />
    </section>
  );
}

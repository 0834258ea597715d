/** A diff in one column or two. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { diffLayout } from "../state/settings.ts";
import { type Diff, type Row, type RowKind, sideBySide } from "../text/diff.ts";
import { highlightLines, languageOfPath, type Span } from "../text/highlight.ts";
import { Visible } from "./visible_text.tsx";

const FIRST_ROWS = 300;
const SIGNS: Record<RowKind, string> = { same: " ", add: "+", remove: "−", gap: "" };
const SPOKEN: Record<RowKind, string> = { same: "", add: "added: ", remove: "removed: ", gap: "" };

export function DiffView({ diff, path, hasSwitch = true }: { diff: Diff; path: string; hasSwitch?: boolean }): VNode {
  const most = useSignal(FIRST_ROWS);
  const rows = diff.rows.slice(0, most.value);
  const colours = coloursOf(rows, path);
  const isSide = diffLayout.value === "side";
  const hidden = diff.rows.length - rows.length;
  return (
    <div class="diff-frame">
      {hasSwitch && <LayoutSwitch />}
      <div class={`diff ${isSide ? "side" : "unified"}`} tabIndex={0} role="region" aria-label={`Changes of ${path}`}>
        <table>
          <tbody>{isSide ? sideBySide(rows).map((pair) => <PairRow left={pair.left} right={pair.right} colours={colours} />) : rows.map((row) => <UnifiedRow row={row} colours={colours} />)}</tbody>
        </table>
      </div>
      {hidden > 0 && (
        <button type="button" class="quiet" onClick={() => (most.value += 2_000)}>
          Show more ({hidden.toLocaleString("en")} rows)
        </button>
      )}
    </div>
  );
}

export function LayoutSwitch(): VNode {
  const isSide = diffLayout.value === "side";
  return (
    <button type="button" class="quiet layout-switch" onClick={() => (diffLayout.value = isSide ? "unified" : "side")}>
      {isSide ? "Unified" : "Side by side"}
    </button>
  );
}

type Colours = Map<Row, Span[]>;

/** The old and the new side are coloured each as a whole, so that strings and comments over lines are right. */
function coloursOf(rows: Row[], path: string): Colours {
  const found: Colours = new Map();
  const language = languageOfPath(path);
  if (!language) return found;
  for (const without of ["remove", "add"] as const) {
    const side = rows.filter((row) => row.kind !== without && row.kind !== "gap");
    const lines = highlightLines(side.map((row) => row.text).join("\n"), language);
    side.forEach((row, at) => found.set(row, lines[at] ?? []));
  }
  return found;
}

function Text({ row, colours }: { row: Row; colours: Colours }): VNode {
  const spans = colours.get(row);
  if (!spans) return <Visible text={row.text} />;
  return <>{spans.map((span) => <span class={span.scope ? `hl-${span.scope}` : undefined}><Visible text={span.text} /></span>)}</>;
}

function UnifiedRow({ row, colours }: { row: Row; colours: Colours }): VNode {
  if (row.kind === "gap") {
    return <tr class="gap"><td colSpan={3}>{row.text}</td></tr>;
  }
  return (
    <tr class={row.kind}>
      <td class="number">{row.new ?? row.old ?? ""}</td>
      <td class="sign"><span aria-hidden="true">{SIGNS[row.kind]}</span><span class="visually-hidden">{SPOKEN[row.kind]}</span></td>
      <td class="line"><Text row={row} colours={colours} /></td>
    </tr>
  );
}

function PairRow({ left, right, colours }: { left: Row | null; right: Row | null; colours: Colours }): VNode {
  if (left?.kind === "gap") {
    return <tr class="gap"><td colSpan={4}>{left.text}</td></tr>;
  }
  return (
    <tr>
      <Half row={left} number={left?.old} colours={colours} />
      <Half row={right} number={right?.new} colours={colours} />
    </tr>
  );
}

function Half({ row, number, colours }: { row: Row | null; number: number | undefined; colours: Colours }): VNode {
  const kind = row?.kind ?? "none";
  return (
    <>
      <td class={`number ${kind}`}>{number ?? ""}</td>
      <td class={`line ${kind}`}>
        {row && <span class="visually-hidden">{SPOKEN[row.kind]}</span>}
        {row && <Text row={row} colours={colours} />}
      </td>
    </>
  );
}

/** Lines that differ between two texts, and unified diffs read back: both become hunks of rows to draw. */

export type RowKind = "same" | "add" | "remove" | "gap";

export interface Row {
  kind: RowKind;
  text: string;
  old?: number;
  new?: number;
}

export interface Diff {
  rows: Row[];
  added: number;
  removed: number;
}

export interface FileDiff extends Diff {
  path: string;
}

const CONTEXT = 3;
const MOST_COST = 4_000_000; // comparisons; beyond it the middle is one block of changes

export function diffTexts(before: string, after: string): Diff {
  return diffLines(split(before), split(after));
}

export function diffLines(old: string[], fresh: string[]): Diff {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++;
  let oldEnd = old.length;
  let newEnd = fresh.length;
  while (oldEnd > start && newEnd > start && old[oldEnd - 1] === fresh[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  const rows: Row[] = [];
  for (let at = 0; at < start; at++) rows.push(same(old[at] ?? "", at + 1, at + 1));
  rows.push(...middle(old, fresh, start, oldEnd, newEnd));
  for (let at = oldEnd; at < old.length; at++) {
    rows.push(same(old[at] ?? "", at + 1, at + 1 + newEnd - oldEnd));
  }
  return folded(rows);
}

function split(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

function same(text: string, old: number, fresh: number): Row {
  return { kind: "same", text, old, new: fresh };
}

/** Longest common subsequence of the part that differs; each piece removed comes before what replaced it. */
function middle(old: string[], fresh: string[], start: number, oldEnd: number, newEnd: number): Row[] {
  const height = oldEnd - start;
  const width = newEnd - start;
  const rows: Row[] = [];
  let i = 0;
  let j = 0;
  if (height * width <= MOST_COST && height && width) {
    const table = lengths(old, fresh, start, height, width);
    const stride = width + 1;
    while (i < height && j < width) {
      if (old[start + i] === fresh[start + j]) {
        rows.push(same(old[start + i] ?? "", start + i + 1, start + j + 1));
        i++;
        j++;
      } else if ((table[(i + 1) * stride + j] ?? 0) >= (table[i * stride + j + 1] ?? 0)) {
        rows.push({ kind: "remove", text: old[start + i] ?? "", old: start + i++ + 1 });
      } else {
        rows.push({ kind: "add", text: fresh[start + j] ?? "", new: start + j++ + 1 });
      }
    }
  }
  for (; i < height; i++) rows.push({ kind: "remove", text: old[start + i] ?? "", old: start + i + 1 });
  for (; j < width; j++) rows.push({ kind: "add", text: fresh[start + j] ?? "", new: start + j + 1 });
  return rows;
}

function lengths(old: string[], fresh: string[], start: number, height: number, width: number): Uint32Array {
  const stride = width + 1;
  const table = new Uint32Array((height + 1) * stride);
  for (let i = height - 1; i >= 0; i--) {
    for (let j = width - 1; j >= 0; j--) {
      const at = i * stride + j;
      table[at] =
        old[start + i] === fresh[start + j]
          ? (table[at + stride + 1] ?? 0) + 1
          : Math.max(table[at + stride] ?? 0, table[at + 1] ?? 0);
    }
  }
  return table;
}

/** Long equal runs become a gap. */
function folded(rows: Row[]): Diff {
  const near = new Uint8Array(rows.length);
  let added = 0;
  let removed = 0;
  rows.forEach((row, at) => {
    if (row.kind === "same") return;
    if (row.kind === "add") added++;
    else removed++;
    for (let n = Math.max(at - CONTEXT, 0); n <= Math.min(at + CONTEXT, rows.length - 1); n++) near[n] = 1;
  });
  const shown: Row[] = [];
  let hidden = 0;
  rows.forEach((row, at) => {
    if (near[at]) {
      if (hidden) shown.push(gap(hidden));
      hidden = 0;
      shown.push(row);
    } else hidden++;
  });
  if (hidden && shown.length) shown.push(gap(hidden));
  return { rows: shown, added, removed };
}

function gap(lines: number): Row {
  return { kind: "gap", text: `${lines.toLocaleString("en")} unchanged ${lines === 1 ? "line" : "lines"}` };
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** The files of a unified diff, with or without git's headers. */
export function parseUnified(text: string, path = ""): FileDiff[] {
  const files: FileDiff[] = [];
  let file: FileDiff | null = path ? { path, rows: [], added: 0, removed: 0 } : null;
  if (file) files.push(file);
  let old = 0;
  let fresh = 0;
  let isInHunk = false;
  for (const line of text.split("\n")) {
    const hunk = HUNK.exec(line);
    if (line.startsWith("diff --git ")) {
      file = { path: line.replace(/^diff --git (?:a\/)?(.*?) (?:b\/)?\S*$/, "$1"), rows: [], added: 0, removed: 0 };
      files.push(file);
      isInHunk = false;
    } else if (!isInHunk && line.startsWith("+++ ") && file) {
      const named = line.slice(4).replace(/^b\//, "").trim();
      if (named !== "/dev/null") file.path = named;
    } else if (hunk) {
      if (!file) files.push((file = { path, rows: [], added: 0, removed: 0 }));
      if (file.rows.length) file.rows.push({ kind: "gap", text: line.replace(HUNK, "").trim() || "…" });
      old = Number(hunk[1]);
      fresh = Number(hunk[2]);
      isInHunk = true;
    } else if (isInHunk && file) {
      const rest = line.slice(1);
      if (line.startsWith("+")) {
        file.rows.push({ kind: "add", text: rest, new: fresh++ });
        file.added++;
      } else if (line.startsWith("-")) {
        file.rows.push({ kind: "remove", text: rest, old: old++ });
        file.removed++;
      } else if (line.startsWith(" ")) file.rows.push(same(rest, old++, fresh++));
    } else if (file && /^(Binary files|rename |new file|deleted file|similarity)/.test(line)) {
      file.rows.push({ kind: "gap", text: line });
    }
  }
  return files;
}

export interface Pair {
  left: Row | null;
  right: Row | null;
}

/** Rows beside each other: a run of removed lines stands beside the run of added ones that follows it. */
export function sideBySide(rows: Row[]): Pair[] {
  const pairs: Pair[] = [];
  let at = 0;
  while (at < rows.length) {
    const row = rows[at] as Row;
    if (row.kind === "same" || row.kind === "gap") {
      pairs.push({ left: row, right: row });
      at++;
      continue;
    }
    const removed: Row[] = [];
    const added: Row[] = [];
    for (; rows[at]?.kind === "remove"; at++) removed.push(rows[at] as Row);
    for (; rows[at]?.kind === "add"; at++) added.push(rows[at] as Row);
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      pairs.push({ left: removed[n] ?? null, right: added[n] ?? null });
    }
  }
  return pairs;
}

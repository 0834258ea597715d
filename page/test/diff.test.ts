import assert from "node:assert/strict";
import { test } from "node:test";
import { diffTexts, parseUnified, sideBySide } from "../src/text/diff.ts";

test("a changed line is a removed and an added one, with its context", () => {
  const diff = diffTexts("a\nb\nc\n", "a\nB\nc\n");
  assert.deepEqual(
    diff.rows.map((row) => `${row.kind} ${row.text}`),
    ["same a", "remove b", "add B", "same c"],
  );
  assert.equal(diff.added, 1);
  assert.equal(diff.removed, 1);
});

test("long equal runs are folded, and numbers are of each side", () => {
  const before = Array.from({ length: 50 }, (_, at) => `line ${at}`);
  const after = before.with(25, "other");
  const diff = diffTexts(before.join("\n"), after.join("\n"));
  assert.equal(diff.rows[0]?.kind, "gap");
  assert.equal(diff.rows.length, 10);
  assert.deepEqual(diff.rows.find((row) => row.kind === "add"), { kind: "add", text: "other", new: 26 });
});

test("texts too long to compare are one block of changes", () => {
  const many = (word: string) => Array.from({ length: 5_000 }, (_, at) => `${word} ${at}`).join("\n");
  const diff = diffTexts(many("a"), many("b"));
  assert.equal(diff.added, 5_000);
  assert.equal(diff.removed, 5_000);
});

test("git's diff is read back by file", () => {
  const text = [
    "diff --git a/x.py b/x.py",
    "index 1..2 100644",
    "--- a/x.py",
    "+++ b/x.py",
    "@@ -1,2 +1,2 @@ def f():",
    " one",
    "-two",
    "+--- not a header",
    "diff --git a/new.txt b/new.txt",
    "new file mode 100644",
    "--- /dev/null",
    "+++ b/new.txt",
    "@@ -0,0 +1 @@",
    "+made",
    "\\ No newline at end of file",
  ].join("\n");
  const [first, second] = parseUnified(text);
  assert.equal(first?.path, "x.py");
  assert.deepEqual(first?.rows.map((row) => row.kind), ["same", "remove", "add"]);
  assert.equal(first?.rows[2]?.text, "--- not a header");
  assert.equal(second?.path, "new.txt");
  assert.equal(second?.added, 1);
});

test("removed and added runs stand beside each other", () => {
  const { rows } = diffTexts("a\nb\nc\n", "x\nc\n");
  const pairs = sideBySide(rows).map((pair) => [pair.left?.text ?? null, pair.right?.text ?? null]);
  assert.deepEqual(pairs, [["a", "x"], ["b", null], ["c", "c"]]);
});

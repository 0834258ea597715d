import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeEntities, lex, MarkdownReader } from "../src/text/markdown.ts";

const TEXT = "# Title\n\nOne *two* `three`\nfour.\n\n- a\n- b\n\n```js\nlet a = 1;\n\nlet b = 2;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.";

test("text that grows gives the same blocks as the whole text", () => {
  const whole = lex(TEXT).map((token) => [token.type, token.raw.trim()]);
  for (const step of [1, 3, 7]) {
    const reader = new MarkdownReader();
    let blocks = reader.read("");
    for (let at = 0; at <= TEXT.length + step; at += step) blocks = reader.read(TEXT.slice(0, at));
    assert.deepEqual(blocks.map((block) => [block.token.type, block.raw.trim()]), whole);
  }
});

test("blocks before the last one stay the same objects", () => {
  const reader = new MarkdownReader();
  const before = reader.read("one\n\ntwo\n\nthr");
  const after = reader.read("one\n\ntwo\n\nthree\n\nfour");
  assert.equal(after[0], before[0]);
  assert.equal(after[1], before[1]);
  assert.equal(after.length, 4);
});

test("a text that changed otherwise is read from the start", () => {
  const reader = new MarkdownReader();
  reader.read("one\n\ntwo");
  assert.deepEqual(reader.read("other").map((block) => block.raw), ["other"]);
});

test("hostile text ends as text, soon", () => {
  const began = performance.now();
  for (const text of ["- ".repeat(20_000), "> ".repeat(20_000), "*a_".repeat(40_000), "[".repeat(50_000), "<!--".repeat(20_000)]) {
    assert.ok(lex(text).length > 0);
  }
  assert.ok(performance.now() - began < 3_000);
});

test("entities are decoded once, and not to controls", () => {
  assert.equal(decodeEntities("&lt;b&gt; &amp;lt; &#65;&#x42; &nope; &#0;"), "<b> &lt; AB &nope; \ufffd");
});

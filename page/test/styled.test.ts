import assert from "node:assert/strict";
import { test } from "node:test";
import { indexed, plainLine, toLine, toLines, toView } from "../src/text/styled.ts";

test("a line is a string, a span or a list of both", () => {
  assert.equal(plainLine(toLine("text")), "text");
  assert.equal(plainLine(toLine({ text: "one" })), "one");
  const [first, second] = toLine(["a", { text: "b", style: "accent bold nonsense", fg: "#ff0000", bg: "nope" }]);
  assert.equal(first?.text, "a");
  assert.deepEqual([second?.roles, second?.attributes, second?.fg, second?.bg], [["accent"], ["bold"], "#ff0000", ""]);
});

test("escapes, controls and bidirectional characters are taken out", () => {
  assert.equal(plainLine(toLine("a\x1b]8;;http://x\x07b\x1b[2Jc\u202ed\te")), "abc\ufffdd    e");
});

test("SGR becomes styles", () => {
  const spans = toLine("\x1b[1;31mred\x1b[0m plain \x1b[38;5;111mblue\x1b[39;48;2;1;2;3mground");
  assert.deepEqual(spans.map((span) => span.text), ["red", " plain ", "blue", "ground"]);
  assert.deepEqual(spans[0]?.attributes, ["bold"]);
  assert.equal(spans[2]?.fg, indexed(111));
  assert.equal(spans[3]?.bg, "#010203");
});

test("limits of lines and characters hold", () => {
  assert.equal(toLines(Array(900).fill("x")).length, 500);
  assert.equal(plainLine(toLine("x".repeat(9_000))).length, 4_096);
  assert.equal(toLine(Array(900).fill({ text: "x" })).length, 256);
});

test("links of other schemes are dropped, and what is no view is none", () => {
  assert.equal(toLine({ text: "x", link: "javascript:x" })[0]?.link, "");
  assert.equal(toLine({ text: "x", link: "https://a/" })[0]?.link, "https://a/");
  assert.equal(toView("text"), null);
  assert.equal(toView({ lines: ["a"], markdown: true })?.isMarkdown, true);
});

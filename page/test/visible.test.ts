import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanOutput, safeLink, safePicture, visible } from "../src/text/visible.ts";

test("characters that hide or reorder are spelled out", () => {
  assert.equal(visible("a\u202eb"), "a⟨U+202E⟩b");
  assert.equal(visible("a\u200b\x1b[0m\u{e0041}"), "a⟨U+200B⟩⟨ESC⟩[0m⟨U+E0041⟩");
  assert.equal(visible("two\nlines", true), "two⟨\\n⟩lines");
  assert.equal(visible("two\nlines\t!"), "two\nlines\t!");
  assert.equal(visible("ordinary – text · 日本 🎉"), "ordinary – text · 日本 🎉");
});

test("only http, https and mailto are links", () => {
  for (const good of ["https://a.b/c", "HTTP://a", "mailto:a@b"]) assert.equal(safeLink(good), good);
  for (const bad of ["javascript:x", " java\nscript:x", "data:text/html,x", "//a", "file:///etc", "https:/a", "http://a\nb"]) {
    assert.equal(safeLink(bad), "");
  }
});

test("only pictures whose data is at hand are shown", () => {
  assert.notEqual(safePicture("data:image/png;base64,AAAA"), "");
  for (const bad of ["https://a/b.png", "data:image/svg+xml;base64,AAAA", "data:text/html,x", "javascript:x"]) {
    assert.equal(safePicture(bad), "");
  }
});

test("output loses escapes, and what carriage returns overwrote", () => {
  assert.equal(cleanOutput("\x1b[31mred\x1b[0m\x1b]0;title\x07 text"), "red text");
  assert.equal(cleanOutput("10%\r20%\rdone\nnext\r\nlast"), "done\nnext\nlast");
});

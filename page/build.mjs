// Builds the page into src/zot/frontends/serve/page. `--check` compares with what is there; `--test` runs the unit tests.

import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../src/zot/frontends/serve/page");
const COPIED = ["page.html", "icon.svg", "icon-192.png", "manifest.webmanifest"];
// What the result depends on, besides the sources: the versions of the libraries and of esbuild, and this file.
const ALSO = ["package-lock.json", "build.mjs"];
const LICENSES = "preact and @preact/signals (MIT), marked (MIT), highlight.js (BSD-3-Clause)";

const options = {
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome115", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  write: false,
  logLevel: "warning",
  absWorkingDir: here,
};

function filesBelow(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(here, join(entry.parentPath ?? entry.path, entry.name)).replaceAll("\\", "/"));
}

/** The same as in generate/page.py, which finds stale files without node. */
export function sourceHash() {
  const names = [...filesBelow(join(here, "src")), ...filesBelow(join(here, "static")), ...ALSO].sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(here, name))).update("\0");
  return hash.digest("hex");
}

async function made() {
  const banner = `/* Built by \`make page\` from page/, sources ${sourceHash()}; do not edit. With ${LICENSES}. */`;
  const run = async (entry, more = {}) => (await build({ ...options, entryPoints: [entry], ...more })).outputFiles[0].contents;
  const files = new Map(COPIED.map((name) => [name, readFileSync(join(here, "static", name))]));
  files.set("page.js", await run("src/main.tsx", { banner: { js: banner } }));
  files.set("page.css", await run("src/style/page.css"));
  files.set("worker.js", await run("src/worker.ts"));
  return files;
}

async function write() {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const [name, content] of await made()) writeFileSync(join(target, name), content);
}

async function check() {
  const files = await made();
  const stale = [...files].filter(([name, content]) => !sameAs(join(target, name), content)).map(([name]) => name);
  stale.push(...readdirSync(target).filter((name) => !files.has(name)));
  for (const name of stale) console.error(`src/zot/frontends/serve/page/${name} is stale: run \`make page\``);
  process.exit(stale.length ? 1 : 0);
}

function sameAs(path, content) {
  try {
    return Buffer.compare(readFileSync(path), Buffer.from(content)) === 0;
  } catch {
    return false;
  }
}

async function test() {
  const scratch = mkdtempSync(join(tmpdir(), "zot-page-"));
  const tests = filesBelow(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
  const bundled = { ...options, minify: false, platform: "node", write: true, outdir: scratch, outExtension: { ".js": ".mjs" } };
  await build({ ...bundled, entryPoints: tests, target: ["node20"] });
  const names = readdirSync(scratch).map((name) => join(scratch, name));
  const ran = spawnSync(process.execPath, ["--test", ...names], { stdio: "inherit" });
  rmSync(scratch, { recursive: true, force: true });
  process.exit(ran.status ?? 1);
}

if (process.argv.includes("--check")) await check();
else if (process.argv.includes("--test")) await test();
else await write();

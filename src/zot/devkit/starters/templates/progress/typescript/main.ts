// __NAME__: a tool that shows its progress. Try it with `zot --ext .`; test it with `node --test`.

import { readFile, readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { Extension } from "./zot-ext/index.ts";

const ext = new Extension("__NAME__", "0.1.0");

async function filesOf(folder: string): Promise<string[] | undefined> {
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined) return undefined;
  const paths = names.sort().map((name) => join(folder, name));
  const found = await Promise.all(paths.map(async (path) => ((await stat(path)).isFile() ? [path] : [])));
  return found.flat();
}

ext.tool(
  "__TOOL__",
  "Count the lines of the text files in a folder.",
  { type: "object", properties: { folder: { type: "string" } }, required: ["folder"] },
  async ({ folder }, ctx) => {
    // the user's project; this process runs in the extension's directory
    const files = await filesOf(resolve(ext.host.cwd, folder ?? ""));
    if (files === undefined) return ctx.error(`${folder}: no such folder`);
    let lines = 0;
    for (const [index, path] of files.entries()) {
      if (ctx.cancelled) return "cancelled"; // the user pressed esc; what is returned now is ignored
      // `content` is what the model gets if the call is cancelled: work that is done is not lost
      const content = `${lines} lines so far, without ${basename(path)}`;
      ctx.progress(basename(path), { fraction: (index + 1) / files.length, content });
      lines += (await readFile(path, { encoding: "utf8", signal: ctx.signal })).split("\n").length - 1;
    }
    return `${lines} lines in ${files.length} files`;
  },
  { timeout_s: 60 }, // a limit of silence: each progress begins it again
);

await ext.run();

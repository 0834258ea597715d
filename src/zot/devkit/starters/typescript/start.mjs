// Starts main.ts. Node runs TypeScript itself from 22.18 on; an older one needs tsx, here (npm install) or on PATH.

import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

function tsx() {
  try {
    return import.meta.resolve("tsx/esm");
  } catch {
    const commands = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "tsx"));
    const loaders = commands.filter(existsSync).map((path) => join(dirname(realpathSync(path)), "esm/index.mjs"));
    const loader = loaders.find(existsSync);
    if (loader) return pathToFileURL(loader).href;
  }
  console.error(`Node ${process.version} cannot run TypeScript: install Node 22.18 or newer, or run \`npm install\``);
  process.exit(1);
}

if (!process.features.typescript) await import(tsx());
await import("./main.ts");

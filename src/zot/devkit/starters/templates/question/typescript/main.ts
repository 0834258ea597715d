// __NAME__: a guard that asks. Try it with `zot --ext .`; test it with `node --test`.

import { Extension } from "./zot-ext/index.ts";

const ext = new Extension("__NAME__", "0.1.0", { guard: true });

const DANGEROUS = /\brm\s+-\w*r|\bgit\s+push\b|\bsudo\b/u;
const allowed = new Set<string>();

// Called before a command runs. If this fails, or no user can be asked, the command is denied.
ext.intercept(
  "tool_call",
  async (event, ctx) => {
    const command = String(event.args["command"] ?? "");
    if (!DANGEROUS.test(command) || allowed.has(command)) return undefined;
    const answer = await ctx.select("Run this command?", ["once", "for this session", "no"], { message: [command] });
    if (answer === "for this session") allowed.add(command);
    const runs = answer === "once" || answer === "for this session";
    return runs ? undefined : event.block("refused by __NAME__: the user did not agree");
  },
  { tools: ["bash"] }, // a filter: other tools run without asking this guard
);

await ext.run();

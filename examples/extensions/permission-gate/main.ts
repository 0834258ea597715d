// Asks before dangerous shell commands. A guard: when it fails, or cannot ask, the command does not run.

import { Extension, Unavailable } from "./zot-ext/index.ts";

const DANGEROUS: readonly [RegExp, string][] = [
  [/\brm\s+(-\w*[rf]\w*\s+)+/u, "deletes files for good"],
  [/\bsudo\b/u, "runs as root"],
  [/\bgit\s+push\b.*(--force|-f)\b/u, "rewrites a remote branch"],
  [/\b(mkfs|dd)\b/u, "writes to a device"],
  [/\bcurl\b[^|]*\|\s*(ba)?sh\b/u, "runs a script from the network"],
];
const ext = new Extension("permission-gate", "1.0.0", { guard: true });

ext.intercept(
  "tool_call",
  async (event, ctx) => {
    const command = String(event.args["command"] ?? "");
    const found = DANGEROUS.find(([pattern]) => pattern.test(command));
    if (!found) return undefined;
    try {
      const yes = await ctx.confirm(`It ${found[1]}. Run it?`, { message: [command], yes: "run it", no: "block it" });
      return yes ? undefined : event.block(`the user blocked it: it ${found[1]}`);
    } catch (error) {
      if (error instanceof Unavailable) return event.block(`it ${found[1]}, and no user can be asked`);
      throw error;
    }
  },
  { tools: ["bash"] },
);

await ext.run();

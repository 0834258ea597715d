// zot rpc from Node, without a dependency.
//
//     node client.mjs "list the files" [flags for zot]
//
// Ctrl-C aborts the prompt. With --no-yolo it asks you before each tool call. To build on, take zot-ext/client instead.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [prompt, ...flags] = process.argv.slice(2);
if (!prompt) {
  console.error('usage: node client.mjs "prompt" [flags for zot]');
  process.exit(2);
}

// A process group of its own: Ctrl-C reaches us alone, and we say "abort".
const zot = spawn("zot", ["rpc", ...flags], { stdio: ["pipe", "pipe", "inherit"], detached: true });
const send = (command) => zot.stdin.write(JSON.stringify(command) + "\n");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

process.on("SIGINT", () => send({ type: "abort" }));
send({ type: "hello", token: process.env.ZOTCORE_RPC_TOKEN ?? "", capabilities: ["approvals"] });
send({ id: "1", type: "prompt", message: prompt }); // no need to wait for the answer to hello

let failed = false;
let cost = "nothing used";

async function approve(event) {
  process.stderr.write(`allow ${event.name}: ${event.preview}? [y/N] `);
  const { value } = await answers.next();
  send({ type: "approve", request_id: event.request_id, decision: value?.trim() === "y" ? "once" : "deny" });
}

/** Returns true after the last event. */
function show(event) {
  switch (event.type) {
    case "response":
      if (event.success) return false;
      console.error(`[${event.command}] ${event.error}`);
      return (failed = true);
    case "text_delta":
      process.stdout.write(event.delta);
      break;
    case "tool_call":
      console.error(`[${event.name}] ${JSON.stringify(event.args)}`);
      break;
    case "tool_result":
      if (event.is_error) console.error("[tool failed]");
      break;
    case "approval_request":
      void approve(event);
      break;
    case "ext_notify":
      console.error(`[${event.extension}] ${event.message}`);
      break;
    case "turn_end":
      if (event.stop === "aborted") console.error("[aborted]");
      break;
    case "usage": {
      const { input, output, cost_usd } = event.cumulative;
      cost = `${input} in, ${output} out, $${cost_usd.toFixed(4)}`;
      break;
    }
    case "error":
      console.error(`[error] ${event.message}`);
      failed = true;
      break;
    case "done":
      process.stdout.write("\n");
      console.error(`[${cost}]`);
      return true;
  }
  return false;
}

let finished = false;
createInterface({ input: zot.stdout }).on("line", (line) => {
  if (finished || !show(JSON.parse(line))) return;
  finished = true;
  zot.stdin.end(); // zot exits when its input ends
});
zot.on("exit", () => process.exit(finished && !failed ? 0 : 1));

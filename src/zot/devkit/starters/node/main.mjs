// __NAME__: an extension for zot. Try it with `zot --ext .`; test it with `node --test`.
// One frame is one line of JSON: what zot says comes on stdin, what we say goes to stdout, stderr is our log.

import { createInterface } from "node:readline";

const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

/** @param {object} frame */
const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);

/** @param {string} text */
function count(text) {
  const words = text.split(/\s+/u).filter(Boolean).length;
  return `${words} words, ${[...text].length} characters`;
}

/** What we do for each frame; zot may add new ones, so an unknown type is no error. */
const answers = {
  hello_ack() {
    send({ type: "register_command", name: "__NAME__", description: "count the words of a text" });
    send({ type: "register_tool", name: "__TOOL__", description: "Count the words and characters of a text.", schema });
    // zot:guard
    send({ type: "subscribe", intercept: ["tool_call"] });
    // zot:end
    send({ type: "ready" });
  },
  command_invoked({ id, args }) {
    const display = args ? count(args) : "usage: /__NAME__ TEXT";
    send({ type: "command_response", id, action: "display", display });
  },
  tool_call({ id, args }) {
    const fine = typeof args?.text === "string";
    const text = fine ? count(args.text) : "text must be a string";
    send({ type: "tool_result", id, content: [{ type: "text", text }], is_error: !fine });
  },
  // zot:guard
  // Called before every tool call.
  event_intercept({ id, tool_name, tool_args }) {
    const block = tool_name === "bash" && String(tool_args?.command ?? "").includes("rm -rf");
    send({ type: "event_intercept_response", id, block, reason: block ? "refused by __NAME__: rm -rf" : "" });
  },
  // zot:end
  shutdown() {
    send({ type: "shutdown_ack" });
    lines.close();
  },
};

/** @param {string} line */
function take(line) {
  try {
    const frame = JSON.parse(line);
    if (Object.hasOwn(answers, frame?.type)) answers[frame.type](frame);
  } catch (error) {
    console.error(`ignored a line that is not a frame: ${error}`);
  }
}

const lines = createInterface({ input: process.stdin });
lines.on("line", take);
lines.on("close", () => process.stdin.destroy());
send({ type: "hello", name: "__NAME__", version: "0.1.0", capabilities: ["commands", "tools"] });

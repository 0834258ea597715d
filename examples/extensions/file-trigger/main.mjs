// A file that talks to the agent: its text becomes a prompt. Plain Node, no SDK.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const EVERY_MS = 300;
const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);
let number = 0;

function watch(file) {
  return setInterval(() => {
    let text = "";
    try {
      text = readFileSync(file, "utf8").trim();
      if (text) writeFileSync(file, "");
    } catch {
      return; // it is not there
    }
    if (!text) return;
    const params = { content: text, as: "context", deliver: "now", type: "file" };
    send({ type: "request", id: `c${++number}`, method: "chat.send", params });
  }, EVERY_MS);
}

let timer;
send({ type: "hello", name: "file-trigger", version: "1.0.0", capabilities: ["edition2"] });
for await (const line of createInterface({ input: process.stdin })) {
  const frame = JSON.parse(line);
  if (frame.type === "hello_ack") {
    if (frame.features) timer = watch(resolve(frame.cwd, process.env.TRIGGER_FILE ?? "zot-trigger.txt")); // not in an older zot
    send({ type: "ready" });
  } else if (frame.type === "response" && frame.error) {
    send({ type: "notify", level: "warn", message: frame.error.message });
  } else if (frame.type === "request") {
    const error = { code: "unknown_method", message: `unknown method ${frame.method}` };
    send({ type: "response", id: frame.id, error });
  } else if (frame.type === "shutdown") {
    send({ type: "shutdown_ack" });
    break;
  }
}
clearInterval(timer); // also when zot is gone: stdin has ended

// A tool and a command in plain Node: no SDK, no dependencies. Models do not know what time it is; this one does.

import { createInterface } from "node:readline";

const schema = {
  type: "object",
  properties: { zone: { type: "string", description: "an IANA time zone such as Europe/Vienna; default: the user's" } },
};

const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`);

function now(zone) {
  const timeZone = zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", timeZone });
  return `${format.format(new Date())} (${timeZone})`;
}

const answers = {
  hello_ack() {
    send({ type: "register_command", name: "clock", description: "the time, here or in a time zone" });
    send({ type: "register_tool", name: "clock", description: "The current date and time.", schema });
    send({ type: "ready" });
  },
  command_invoked({ id, args }) {
    try {
      send({ type: "command_response", id, action: "display", display: now(args) });
    } catch (error) {
      send({ type: "command_response", id, action: "noop", error: error.message });
    }
  },
  tool_call({ id, args }) {
    try {
      send({ type: "tool_result", id, content: [{ type: "text", text: now(args?.zone) }] });
    } catch (error) {
      send({ type: "tool_result", id, content: [{ type: "text", text: error.message }], is_error: true });
    }
  },
  shutdown() {
    send({ type: "shutdown_ack" });
    lines.close();
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  try {
    const frame = JSON.parse(line);
    if (Object.hasOwn(answers, frame?.type)) answers[frame.type](frame);
  } catch (error) {
    console.error(`ignored a line that is not a frame: ${error.message}`);
  }
});
lines.on("close", () => process.stdin.destroy());
send({ type: "hello", name: "clock", version: "1.0.0", capabilities: ["commands", "tools"] });

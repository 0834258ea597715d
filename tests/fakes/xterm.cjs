// xterm.js without a window, for tests/fakes/xterm.py. Lines of JSON: {data}, {size}, {show} in, {reply}, {shown} out.

const { createInterface } = require("node:readline");
const { Terminal } = require("@xterm/headless");

const [columns, rows] = process.argv.slice(2).map(Number);
const terminal = new Terminal({ cols: columns, rows, scrollback: 50000, allowProposedApi: true });
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

// Rows that the terminal has wrapped are joined again.
function text(first) {
  const { active } = terminal.buffer;
  const joined = [];
  for (let y = first; y < active.length; y++) {
    const line = active.getLine(y);
    const wraps = y + 1 < active.length && active.getLine(y + 1).isWrapped;
    const row = line.translateToString(!wraps);
    if (line.isWrapped && joined.length) joined[joined.length - 1] += row;
    else joined.push(row);
  }
  return joined.join("\n");
}

terminal.onData((reply) => say({ reply }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { data, size, show } = JSON.parse(line);
  if (data) terminal.write(Buffer.from(data, "base64"));
  if (size) terminal.write("", () => terminal.resize(...size)); // after what was written before
  if (show) terminal.write("", () => say({ shown: text(show === "screen" ? terminal.buffer.active.baseY : 0) }));
});

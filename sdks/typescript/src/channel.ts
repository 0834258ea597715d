// Reads lines from zot and writes frames, one write each. Opening it reserves stdout for frames: other output goes to
// stderr, which is the extension's log.

import { stderr, stdin, stdout } from "node:process";

const LF = 0x0a;

export class Channel {
  #write: ((line: string) => unknown) | undefined;

  open(onLine: (line: string) => boolean, onEnd: () => void): void {
    this.#write = stdout.write.bind(stdout);
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
    stdout.on("error", () => (this.#write = () => true)); // a closed pipe is not an error
    readLines(onLine, onEnd);
  }

  send(line: string): void {
    if (!this.#write) throw new Error("the extension is not running yet; say this from a handler or from onHello");
    this.#write(line);
  }

  close(): void {
    stdin.destroy();
  }
}

/** Splits only at LF: node:readline would also split at U+2028 inside a string. */
function readLines(onLine: (line: string) => boolean, onEnd: () => void): void {
  let rest: Buffer[] = [];
  let open = true;
  const take = (piece: Buffer): void => {
    const line = Buffer.concat([...rest, piece]).toString("utf8");
    rest = [];
    open = open && onLine(line);
  };
  stdin.on("data", (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
  });
  stdin.on("end", () => {
    if (rest.length > 0) take(Buffer.alloc(0));
    if (open) onEnd();
  });
}

/** What went wrong with `zot rpc`: `failed` (it said no), `gone` (it ended), `silent` (no answer in time), `closed`. */
export class ClientError extends Error {
  readonly kind: "failed" | "gone" | "silent" | "closed";
  /** What zot last said on stderr. */
  readonly stderr: string;

  constructor(kind: ClientError["kind"], message: string, stderr = "") {
    super(message);
    this.name = "ClientError";
    this.kind = kind;
    this.stderr = stderr;
  }
}

/** An error of the client: `failed` (zot refused), `gone` (zot ended), `silent` (no answer in time), `closed`. */
export class ClientError extends Error {
  readonly kind: "failed" | "gone" | "silent" | "closed";
  /** The end of zot's stderr. */
  readonly stderr: string;

  constructor(kind: ClientError["kind"], message: string, stderr = "") {
    super(message);
    this.name = "ClientError";
    this.kind = kind;
    this.stderr = stderr;
  }
}

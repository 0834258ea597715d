// Why zot did not do what an extension asked for.

/** A refused or failed request; `code` is the code of the protocol, such as `refused`, `busy`, `conflict` or `failed`. */
export class RequestError extends Error {
  readonly code: string;
  readonly data: unknown;

  constructor(message: string, code = "failed", data?: unknown) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.data = data;
  }
}

/** This zot lacks a feature; `Extension.has` tells first. */
export class NotSupported extends RequestError {}

/** This mode has no place for it, or no user can be asked. */
export class Unavailable extends RequestError {}

/** The manifest's `uses` lacks a word, or the user denied it. */
export class Denied extends RequestError {}

/** The call it belongs to was cancelled. */
export class Cancelled extends RequestError {}

/** No answer in time. */
export class TimedOut extends RequestError {}

const BY_CODE: Readonly<Record<string, typeof RequestError>> = {
  unknown_method: NotSupported,
  unavailable: Unavailable,
  denied: Denied,
  cancelled: Cancelled,
  timeout: TimedOut,
};

export function errorOf(code: string, message: string, data?: unknown): RequestError {
  return new (BY_CODE[code] ?? RequestError)(message, code, data);
}

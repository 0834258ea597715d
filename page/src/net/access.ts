/** The key of this device, and requests that need it. The key stays in this browser; the token is used once. */

const KEY = "zot-key";

export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function deviceKey(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // storage is switched off
  }
}

export function dropKey(): void {
  localStorage.removeItem(KEY);
}

/** Take the token out of the address and exchange it for a key. Empty text if there is none or it worked. */
export async function exchangeToken(): Promise<string> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return "";
  return pair(token);
}

/** The fault, or an empty text. */
export async function pair(token: string): Promise<string> {
  const name = new URLSearchParams(location.hash.slice(1)).get("c"); // `/serve` names its conversation
  history.replaceState(null, "", location.pathname + location.search + (name ? `#c=${encodeURIComponent(name)}` : ""));
  try {
    const sent = JSON.stringify({ token, name: deviceName() });
    const answer = await request("POST", "/device", sent);
    localStorage.setItem(KEY, ((await answer.json()) as { key: string }).key);
    return "";
  } catch (error) {
    return deviceKey() ? "" : describe(error);
  }
}

/** A JSON answer of the server. HttpError with the text of the server if it refuses. */
export async function fetchJson<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await request(method, path, body === undefined ? undefined : JSON.stringify(body));
  const text = await answer.text();
  return (text ? JSON.parse(text) : null) as T;
}

/** A file of the server, given to the user to save. */
export async function download(path: string, fallback: string): Promise<void> {
  const answer = await request("GET", path);
  const named = /filename="?([^";]+)"?/.exec(answer.headers.get("content-disposition") ?? "");
  save(await answer.blob(), named?.[1] ?? fallback);
}

export function save(data: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function request(method: string, path: string, body?: string): Promise<globalThis.Response> {
  const headers: Record<string, string> = {};
  const key = deviceKey();
  if (key) headers["Authorization"] = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body ?? null, cache: "no-store" });
  if (answer.ok) return answer;
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = ((await answer.json()) as { error?: string }).error ?? message;
  } catch {
    // not JSON: the status is all there is
  }
  throw new HttpError(answer.status, message);
}

/** A name that a person recognises in `zot serve devices`. */
function deviceName(): string {
  const agent = navigator.userAgent;
  const system = /Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux/.exec(agent)?.[0] ?? "device";
  const browser = /Firefox|Edg|OPR|Chrome|Safari/.exec(agent)?.[0] ?? "browser";
  return `${browser.replace("Edg", "Edge").replace("OPR", "Opera")} on ${system.replace("Mac OS X", "Mac")}`;
}

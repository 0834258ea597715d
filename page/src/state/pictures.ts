/** Pictures that this page has sent: the server names them by kind and size only. */

export const picturesSent = new Map<string, string>();

const KINDS = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const MOST_BYTES = 10_000_000; // of one picture

export interface Attached {
  name: string;
  mime: string;
  bytes: number;
  data: string; // base64
  address: string; // of a blob, for the preview
}

/** A file as a picture of a prompt; an Error says why it cannot be one. */
export async function attach(file: File): Promise<Attached> {
  if (!KINDS.has(file.type)) throw new Error(`${file.name || "the file"}: only PNG, JPEG, GIF and WebP can be sent`);
  if (file.size > MOST_BYTES) throw new Error(`${file.name}: a picture has at most 10 MB`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  const address = URL.createObjectURL(file);
  picturesSent.set(`${file.type} ${file.size}`, address);
  return { name: file.name || "picture", mime: file.type, bytes: file.size, data: btoa(text), address };
}

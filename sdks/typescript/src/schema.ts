// Schemas of tools: a JSON Schema as it is, or a short form that names the type of each argument.

const TYPES = new Set(["string", "number", "integer", "boolean"]);

/** The type of one argument in the short form; with `?` it may be absent. */
export type ShortType = "string" | "number" | "integer" | "boolean" | "string?" | "number?" | "integer?" | "boolean?";

type TypeOf<T> = T extends "string" | "string?" ? string : T extends "boolean" | "boolean?" ? boolean : number;

/** The arguments that a short form describes. */
export type ShortArgs<S> = {
  [K in keyof S as S[K] extends `${string}?` ? never : K]: TypeOf<S[K]>;
} & { [K in keyof S as S[K] extends `${string}?` ? K : never]?: TypeOf<S[K]> };

/** `{ env: "string" }` as a JSON Schema; anything else stays as it is. */
export function schemaOf(given: object): object {
  const fields = Object.entries(given as Record<string, unknown>);
  const short = fields.filter(([, type]) => typeof type === "string" && TYPES.has(type.replace(/\?$/u, "")));
  if (fields.length === 0 || short.length < fields.length || ("type" in given && given.type === "object")) return given;
  const properties = fields.map(([name, type]) => [name, { type: String(type).replace(/\?$/u, "") }]);
  const required = fields.filter(([, type]) => !String(type).endsWith("?")).map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

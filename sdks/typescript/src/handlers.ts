// The types of handlers. Each may be async.

import type { AssistantMessageDecision, Response, ToolCallDecision, ToolContent, ToolResult, TurnStartDecision } from "./answers.js";
import type { Context } from "./context.js";
import type { Event, EventIntercept } from "./frames.js";
import type { Interception, Verdict } from "./interceptions.js";
import type { ShortArgs, ShortType } from "./schema.js";

type Maybe<T> = T | Promise<T>;
type Args = Record<string, any>;

/** One call of a tool; an older name of `Context`. */
export type ToolContext = Context;

export type CommandHandler = (args: string, ctx: Context) => Maybe<Response | string | void | undefined>;
/** The return value of a tool: text, blocks, a ToolResult, or data, which becomes `structured_content` and its JSON text. */
export type ToolReturn = ToolResult | string | ToolContent | readonly ToolContent[] | object | number | boolean | void;
export type ToolHandler<A = Args> = (args: A, context: ToolContext) => Maybe<ToolReturn>;
export type ReconcileHandler = (args: Args, context: ToolContext) => Maybe<"completed" | "not_started" | "unknown" | ToolResult>;
export type EventHandler = (event: Event) => Maybe<void>;
export type InterceptHandler = (tool: string, args: Args, ctx: Context) => Maybe<readonly [allowed: boolean, reason: string] | ToolCallDecision | void>;
export type ToolCallHandler = (tool: string, args: Args, ctx: Context) => Maybe<ToolCallDecision | void>;
export type TurnStartHandler = (step: number, ctx: Context) => Maybe<TurnStartDecision | void>;
export type AssistantMessageHandler = (text: string, ctx: Context) => Maybe<AssistantMessageDecision | void>;
export type BeforeAgentStartHandler = (asked: EventIntercept, ctx: Context) => Maybe<string | void>;
/** Gets what is about to happen; a text replaces, false blocks. */
export type InterceptionHandler = (event: Interception, ctx: Context) => Maybe<Verdict | string | boolean | void | undefined>;
export type PanelKeyHandler = (key: string, text: string) => Maybe<void>;

/** The type of the arguments of a tool, from a literal JSON Schema or its short form. */
export type ToolArgs<S> = S extends Readonly<Record<string, ShortType>> ? ShortArgs<S> : ArgsOf<S>;

/** The type that a literal JSON Schema describes. */
export type ArgsOf<S> = S extends { readonly enum: readonly (infer E)[] }
  ? E
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly type: "array"; readonly items: infer I }
          ? ArgsOf<I>[]
          : S extends { readonly type: "object"; readonly properties: infer P }
            ? ObjectOf<P, S extends { readonly required: readonly (infer R)[] } ? R : never>
            : any;

type ObjectOf<P, R> = { [K in keyof P as K extends R ? K : never]: ArgsOf<P[K]> } & {
  [K in keyof P as K extends R ? never : K]?: ArgsOf<P[K]>;
};

// Runs one scenario with the TypeScript client and prints what it saw as JSON; its twins print the same.

import { Client, ClientError, type ClientOptions, type Event, type TextDeltaEvent } from "../src/client.js";

const config = JSON.parse(process.env.DRIVER ?? "{}");

function client(more: ClientOptions = {}): Client {
  const { command, args, base_url: baseUrl, cwd, env, patience } = config;
  return new Client({ command, args, baseUrl, cwd, env, silence: 500, answerTimeout: patience * 1_000, ...more });
}

const isDelta = (event: Event): event is TextDeltaEvent => event.type === "text_delta";

async function gather(events: AsyncIterable<Event>): Promise<Event[]> {
  const gathered: Event[] = [];
  for await (const event of events) gathered.push(event);
  return gathered;
}

const textOf = (events: Event[]): string => events.filter(isDelta).map((event) => event.delta).join("");

async function using<T>(zot: Client, body: (zot: Client) => Promise<T>): Promise<T> {
  try {
    return await body(zot);
  } finally {
    await zot.close();
  }
}

/** Events as they come; `until` waits for the next one of a type and drops those before it. */
class Heard {
  readonly #events: Event[] = [];
  #wake = (): void => {};

  push(event: Event): void {
    this.#events.push(event);
    this.#wake();
  }

  async until<T extends Event["type"]>(type: T): Promise<Extract<Event, { type: T }>> {
    for (;;) {
      const event = this.#events.shift();
      if (event?.type === type) return event as Extract<Event, { type: T }>;
      if (!event) await new Promise<void>((wake) => (this.#wake = wake));
    }
  }
}

async function panel(): Promise<unknown> {
  const heard = new Heard();
  const zot = client({
    extensions: [config.extension],
    capabilities: ["commands", "panels"],
    onEvent: (event) => heard.push(event),
  });
  const open = async (): Promise<string> => {
    const { answer, events } = await zot.runCommand("open");
    for await (const event of events) heard.push(event);
    return answer.action;
  };
  const drawn = async (): Promise<string> => {
    const { title, lines, footer } = await heard.until("ext_panel");
    return `${title}: ${lines.join(", ")} (${footer})`;
  };
  return using(zot, async () => {
    const action = await open();
    const frames = [await drawn()];
    await zot.panelKey("board", "p", "rune", "é");
    frames.push(await drawn());
    await zot.panelKey("board", "p", "up");
    frames.push(await drawn());
    await zot.panelKey("board", "p", "rune", "q");
    const closed = await heard.until("ext_panel_close");
    await open();
    const again = await drawn();
    await zot.panelClose("board", "p");
    const { message } = await heard.until("ext_notify");
    return { action, drawn: frames, closed: `${closed.extension} ${closed.panel_id}`, again, note: message };
  });
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // what it said before may still be coming
  }
}

async function lost(signal: NodeJS.Signals): Promise<unknown> {
  return using(client(), async (zot) => {
    let kind = "";
    try {
      for await (const event of zot.prompt("hi")) if (isDelta(event) && zot.pid) kill(zot.pid, signal);
    } catch (error) {
      kind = (error as ClientError).kind;
    }
    return { kind, text: await zot.ask("again"), starts: zot.starts };
  });
}

const scenarios: Record<string, () => Promise<unknown>> = {
  tools: () =>
    using(client(), async (zot) => {
      const events = await gather(zot.prompt("look"));
      const state = await zot.state();
      const errors = events.flatMap((event) => (event.type === "tool_result" ? [event.is_error] : []));
      const last = events.at(-1)?.type;
      return { text: textOf(events), errors, last, messages: state.message_count, output: state.usage.output };
    }),
  commands: () =>
    using(client(), async (zot) => {
      await zot.ping();
      const models = [...new Set((await zot.models()).map((model) => model.provider))].sort();
      const failure = await zot.setModel("nonsense").catch((error: ClientError) => error.message);
      await zot.setModel("claude-haiku-4-5");
      await zot.setReasoning("low");
      await zot.setPermissionMode("plan");
      const text = await zot.ask("hi");
      await zot.clear();
      return { models, failure, text, left: (await zot.messages()).length };
    }),
  abort: () =>
    using(client(), async (zot) => {
      const stops: unknown[] = [];
      let aborted = false;
      for await (const event of zot.prompt("one")) {
        if (isDelta(event) && !aborted) {
          aborted = true;
          await zot.abort();
        }
        if (event.type === "turn_end") stops.push(event.stop);
      }
      for await (const event of zot.prompt("two")) if (isDelta(event)) break;
      return { stops, text: await zot.ask("three") };
    }),
  compact: () =>
    using(client(), async (zot) => {
      await zot.ask("question");
      const [summary, text] = await Promise.all([zot.compact("names"), zot.ask("next")]);
      return { summary, text };
    }),
  rewind: () =>
    using(client(), async (zot) => {
      await zot.ask("go");
      const changes = await zot.changes();
      const told = await zot.rewind(1, { what: "files", dry_run: true });
      const done = await zot.rewind(1);
      const outcomes = [told, done].map((answer) => answer.files.map((file) => file.outcome));
      return { added: changes.files[0]?.added, outcomes, text: done.text, left: (await zot.messages()).length };
    }),
  approve: () => {
    const asked: string[] = [];
    const approve: ClientOptions["approve"] = (request) => {
      asked.push(`${request.name} ${(request.args as { command: string }).command}`);
      if (config.decision === "raise") throw new Error("cannot decide");
      return config.decision;
    };
    return using(client({ approve }), async (zot) => ({ text: await zot.ask("go"), asked }));
  },
  elicit: () => {
    const asked: string[] = [];
    const elicit: ClientOptions["elicit"] = (request) => {
      asked.push(`${request.server}: ${request.message} ${(request.fields ?? []).map((field) => field.name).join(" ")}`);
      const said = config.answers[asked.length - 1];
      if (said === "raise") throw new Error("cannot answer");
      return said;
    };
    return using(client({ elicit }), async (zot) => {
      const text = await zot.ask("go");
      const servers = (await zot.mcpServers()).map((each) => `${each.name} ${each.state} ${each.tools}`);
      return { text, asked, servers };
    });
  },
  extension: () => {
    const heard: Event[] = [];
    const options: ClientOptions = {
      extensions: [config.extension],
      capabilities: ["commands"],
      onEvent: (event) => heard.push(event),
    };
    return using(client(options), async (zot) => {
      const commands = (await zot.commands()).map((each) => each.name);
      const { answer, events } = await zot.runCommand("greet", "Ada");
      heard.push(...(await gather(events)));
      const notes = heard.flatMap((event) => (event.type === "ext_notify" ? [event.message] : []));
      return { commands, action: answer.action, text: textOf(heard), notes };
    });
  },
  panel,
  panel_unannounced: () =>
    using(client({ extensions: [config.extension] }), async (zot) => {
      const failure = (error: ClientError): string => error.message;
      return [
        await zot.panelKey("board", "p", "up").catch(failure),
        await zot.panelClose("board", "p").catch(failure),
      ];
    }),
  killed: () => lost("SIGKILL"),
  stopped: () => lost("SIGSTOP"),
  missing: async () => {
    const zot = client();
    try {
      await zot.start();
      return {};
    } catch (error) {
      const { kind, message, stderr } = error as ClientError;
      return { kind, told: message.includes("no credential"), stderr: stderr.includes("ANTHROPIC_API_KEY") };
    }
  },
  noise: () =>
    using(client(), async (zot) => {
      const events = await gather(zot.prompt("hi"));
      const deltas = events.filter(isDelta);
      return { events: events.length, deltas: deltas.length, characters: textOf(events).length };
    }),
};

const scenario = scenarios[process.argv[2] ?? ""];
if (!scenario) throw new Error(`no scenario ${process.argv[2]}`);
console.log(JSON.stringify(await scenario()));

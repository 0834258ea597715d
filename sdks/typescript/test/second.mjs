// An extension that uses the second edition from plain Node; its twins in other languages send the same frames.

import { Extension, NotSupported, RequestError, line } from "zot-ext";

const ANY = { type: "object" };
const ext = new Extension("second", "2.0.0");

ext.status("early", line("before ", ["the run", "muted"]));

ext.tool(
  "deploy",
  "Deploys.",
  ANY,
  async ({ env }, ctx) => {
    if (env === "production" && !(await ctx.confirm("Deploy to production?", { default: false }))) {
      return ctx.error("the person said no");
    }
    ext.status("env", line("deploying ", [env, "accent"]));
    ctx.progress("build", { fraction: 0.5 });
    ctx.progress("push", { fraction: 1, view: ["pushed"] });
    ext.withdraw("status", "env");
    return ctx.result(`${env} runs`, { view: { lines: ["runs"] }, details: { n: 1 } });
  },
  { timeout_s: 600 },
);

ext.tool("ask", "Asks.", ANY, async ({ kind }, ctx) => {
  const asks = {
    select: () => ctx.select("Which?", ["a", ["b", "B"]]),
    choose: () => ctx.choose("Which?", ["a", "b"]),
    input: () => ctx.input("What?", { placeholder: "text" }),
    editor: () => ctx.editor("What?", "prefilled"),
    form: () => ctx.form("Fill in", [{ name: "n", kind: "integer" }]),
    url: () => ctx.openUrl("Log in", "https://example.com"),
  };
  return JSON.stringify(await asks[kind]());
});

const refusal = (error) => {
  if (error instanceof NotSupported) return `not supported: ${error.message}`;
  if (error instanceof RequestError) return `${error.code}: ${error.message}`;
  throw error;
};

ext.tool("request", "Sends any request.", ANY, async ({ method, params }) => {
  try {
    return JSON.stringify(await ext.request(method, params));
  } catch (error) {
    return refusal(error);
  }
});

ext.tool("contribute", "Contributes a key.", ANY, async () => {
  try {
    await ext.tryContribute("key", "k", { keys: ["ctrl+k"], description: "d" });
  } catch (error) {
    return refusal(error);
  }
  return "taken";
});

ext.tool("slow", "Waits to be cancelled.", ANY, async (_args, ctx) => {
  ext.notify("info", "slow started");
  await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  ext.notify("info", "slow stopped");
  return "late";
});

ext.tool("patient", "Asks and waits.", ANY, async (_args, ctx) => {
  try {
    return `answered ${await ctx.confirm("Go on?")}`;
  } catch (error) {
    ext.notify("info", `patient stopped: ${error.name}`);
    throw error;
  }
});

ext.tool("told", "Says what there is.", ANY, () => {
  return `${ext.has("dialogs")} ${ext.granted("ui")} ${ext.mode} ${JSON.stringify(ext.state)}`;
});

ext.intercept("input", (event) => {
  if (event.text === "stop") return event.block("not that");
  if (event.text === "mine") return event.handled();
  return event.text.includes("#1") ? event.text.replace("#1", "issue 1") : undefined;
});
ext.intercept("input", (event) => (event.text.startsWith("issue") ? `${event.text}!` : undefined));

ext.intercept(
  "tool_call",
  async (event, ctx) => {
    if (event.args.command !== "rm") return undefined;
    return (await ctx.confirm("Remove?", { default: true })) ? undefined : event.block("the person said no");
  },
  { tools: ["bash"] },
);

ext.command(
  "envs",
  "where things run",
  async (_args, ctx) => {
    const chosen = await ctx.select("Environment", ["dev", "prod"]);
    return chosen && ctx.prompt(`What changed in ${chosen}?`);
  },
  { complete: (text) => ["dev", "prod"].filter((env) => env.startsWith(text)) },
);

ext.key("ctrl+alt+p", "plan mode", (ctx) => ctx.insert("plan"));
ext.on("idle", async () => ext.notify("info", `model ${(await ext.model()).model}`));
ext.on("bus", (event) => ext.notify("info", `bus ${event.data.payload}`), { topics: ["t"] });
ext.onStateSave(() => ({ n: 3 }));

await ext.run();

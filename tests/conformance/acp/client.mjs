// Drives every capability of `zot acp` with the TypeScript SDK: prints one JSON object with what it saw.
// client.py does the same with the Python SDK.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/unstable";

const [setup, ...argv] = process.argv.slice(2);
const { cwd, other, servers, blocks } = JSON.parse(setup);
const seen = { kinds: [], text: "", asked: [], written: {}, forms: [], terminals: [], titles: [], costs: 0, texts: {} };
const terminals = new Map();

const { agent: of, client: mine } = acp.methods;
const app = acp
  .client({ name: "zot-test" })
  .onRequest(mine.session.requestPermission, ({ params }) => {
    seen.asked.push(params.toolCall.title);
    const option = params.options.find((each) => each.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(mine.session.update, ({ params: { sessionId, update } }) => {
    seen.kinds.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") {
      seen.text += update.content.text;
      seen.texts[sessionId] = (seen.texts[sessionId] ?? "") + update.content.text;
    }
    if (update.sessionUpdate === "session_info_update") seen.titles.push(update.title);
    if (update.sessionUpdate === "usage_update") seen.costs += update.cost.amount >= 0 ? 1 : 0;
  })
  .onRequest(mine.fs.writeTextFile, ({ params }) => {
    seen.written[params.path] = params.content;
    return {};
  })
  .onRequest(mine.fs.readTextFile, () => ({ content: "from the editor\n" }))
  .onRequest(mine.terminal.create, ({ params }) => {
    const child = spawn(params.command, params.args, { cwd: params.cwd });
    const terminal = { output: "", child };
    child.stdout.on("data", (data) => (terminal.output += data));
    terminal.exit = new Promise((resolve) => child.on("close", (code) => resolve(code)));
    const terminalId = `t${terminals.size}`;
    terminals.set(terminalId, terminal);
    seen.terminals.push("create");
    return { terminalId };
  })
  .onRequest(mine.terminal.waitForExit, async ({ params }) => {
    return { exitCode: await terminals.get(params.terminalId).exit };
  })
  .onRequest(mine.terminal.output, ({ params }) => {
    return { output: terminals.get(params.terminalId).output, truncated: false };
  })
  .onRequest(mine.terminal.kill, ({ params }) => {
    seen.terminals.push("kill");
    terminals.get(params.terminalId).child.kill();
    return {};
  })
  .onRequest(mine.terminal.release, () => {
    seen.terminals.push("release");
    return {};
  })
  .onRequest(mine.elicitation.create, ({ params }) => {
    seen.forms.push(params.message);
    return { action: "accept", content: { 0: "B" } };
  });

async function work(agent) {
  const fs = { readTextFile: true, writeTextFile: true };
  const clientCapabilities = { fs, terminal: true, elicitation: { form: {} }, auth: { terminal: true } };
  const hello = await agent.request(of.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities });
  seen.methods = hello.authMethods.map((each) => each.id);
  seen.capabilities = Object.keys(hello.agentCapabilities.sessionCapabilities).sort();
  seen.authenticated = await agent.request(of.authenticate, { methodId: "zot-key" });
  const session = await agent.request(of.session.new, { cwd, mcpServers: servers });
  const { sessionId } = session;
  seen.modes = session.modes.availableModes.map((each) => each.id);
  seen.options = session.configOptions.map((each) => each.id);
  await agent.request(of.session.setMode, { sessionId, modeId: "ask" });
  const changed = await agent.request(of.session.setConfigOption, { sessionId, configId: "reasoning", value: "low" });
  seen.reasoning = changed.configOptions.find((each) => each.id === "reasoning").currentValue;

  const ask = (sessionId, text, more = []) =>
    agent.request(of.session.prompt, { sessionId, prompt: [{ type: "text", text }, ...more] });
  seen.stop = (await ask(sessionId, "go")).stopReason;
  seen.looked = (await ask(sessionId, "look", blocks)).stopReason;
  seen.served = (await ask(sessionId, "use the server")).stopReason;
  const cancel = async (text) => {
    const cancelled = ask(sessionId, text);
    setTimeout(() => agent.notify(of.session.cancel, { sessionId }), 500);
    return (await cancelled).stopReason;
  };
  seen.cancelled = [await cancel("count"), await cancel("wait")];

  const second = (await agent.request(of.session.new, { cwd: other, mcpServers: [] })).sessionId;
  seen.elsewhere = (await ask(second, "where")).stopReason;
  const both = await Promise.all([ask(sessionId, "both"), ask(second, "both")]);
  seen.both = both.map((each) => each.stopReason);
  await agent.request(of.session.close, { sessionId: second });
  seen.closed = await ask(second, "closed").then(() => 0, (error) => error.code);

  const listed = await agent.request(of.session.list, { cwd });
  seen.listed = listed.sessions.map((each) => [each.sessionId === sessionId, each.title]);
  let before = seen.kinds.length;
  await agent.request(of.session.load, { sessionId, cwd, mcpServers: [] });
  seen.replayed = seen.kinds.slice(before);
  before = seen.kinds.length;
  await agent.request(of.session.resume, { sessionId: second, cwd: other });
  seen.resumed = (await ask(second, "again")).stopReason;
  seen.repeated = seen.kinds.slice(before);
  const fork = (await agent.request(of.session.fork, { sessionId, cwd })).sessionId;
  seen.forked = [fork !== sessionId, (await ask(fork, "aside")).stopReason];
  await agent.request(of.session.delete, { sessionId: fork });
  await agent.request(of.session.delete, { sessionId: second });
  const rest = await agent.request(of.session.list, {});
  seen.rest = rest.sessions.map((each) => each.sessionId === sessionId);
  seen.logout = await agent.request(of.logout, {}).then(() => "", (error) => error.message);
  seen.secondText = seen.texts[second];
}

const child = spawn(argv[0], argv.slice(1), { cwd, stdio: ["pipe", "pipe", "inherit"] });
await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), work);
console.log(JSON.stringify(seen));
child.stdin.end();
child.on("exit", (code) => process.exit(code ?? 1));

// Drives `zot acp` with the TypeScript SDK: prints one JSON object with what it saw.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [cwd, ...argv] = process.argv.slice(2);
const seen = { kinds: [], text: "", asked: [], written: {}, forms: [] };

const { agent: of, client: mine } = acp.methods;
const app = acp
  .client({ name: "zot-test" })
  .onRequest(mine.session.requestPermission, ({ params }) => {
    seen.asked.push(params.toolCall.title);
    const option = params.options.find((each) => each.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(mine.session.update, ({ params: { update } }) => {
    seen.kinds.push(update.sessionUpdate);
    if (update.sessionUpdate === "agent_message_chunk") seen.text += update.content.text;
  })
  .onRequest(mine.fs.writeTextFile, ({ params }) => {
    seen.written[params.path] = params.content;
    return {};
  })
  .onRequest(mine.fs.readTextFile, () => ({ content: "from the editor\n" }))
  .onRequest(mine.elicitation.create, ({ params }) => {
    seen.forms.push(params.message);
    return { action: "accept", content: { 0: "B" } };
  });

async function work(agent) {
  const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true }, elicitation: { form: {} } };
  const hello = await agent.request(of.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities });
  seen.methods = hello.authMethods.map((each) => each.id);
  const session = await agent.request(of.session.new, { cwd, mcpServers: [] });
  const { sessionId } = session;
  seen.modes = session.modes.availableModes.map((each) => each.id);
  seen.options = session.configOptions.map((each) => each.id);
  await agent.request(of.session.setMode, { sessionId, modeId: "ask" });
  const changed = await agent.request(of.session.setConfigOption, { sessionId, configId: "reasoning", value: "low" });
  seen.reasoning = changed.configOptions.find((each) => each.id === "reasoning").currentValue;
  const prompt = (text) => agent.request(of.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  seen.stop = (await prompt("go")).stopReason;
  const cancelled = prompt("count");
  setTimeout(() => agent.notify(of.session.cancel, { sessionId }), 500);
  seen.cancelled = (await cancelled).stopReason;
  const listed = await agent.request(of.session.list, { cwd });
  seen.listed = listed.sessions.map((each) => each.sessionId === sessionId);
  const before = seen.kinds.length;
  await agent.request(of.session.load, { sessionId, cwd, mcpServers: [] });
  seen.replayed = seen.kinds.slice(before);
}

const child = spawn(argv[0], argv.slice(1), { cwd, stdio: ["pipe", "pipe", "inherit"] });
await app.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), work);
console.log(JSON.stringify(seen));
child.stdin.end();
child.on("exit", (code) => process.exit(code ?? 1));

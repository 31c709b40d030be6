// A client on the protocol's own TypeScript SDK: what it sees of a server goes to standard output.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, command, ...args] = process.argv.slice(2);
const find = createRequire(pathToFileURL(`${modules}/`));
const load = (name) => import(pathToFileURL(find.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ElicitRequestSchema } = await load("types.js");

const capabilities = { elicitation: {} };
const client = new Client({ name: "test", version: "1" }, { capabilities });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { allow: true } };
});
await client.connect(new StdioClientTransport({ command, args }));
const { tools } = await client.listTools();
const greeting = { name: "hello", arguments: { input: "Hi", why: "Greet from TypeScript" } };
const hello = await client.callTool(greeting);
const secret = await client.callTool({ name: "fs_read", arguments: { path: ".env" } });
const { messages } = await client.getPrompt({ name: "hello", arguments: { input: "Hi" } });
const unknown = await client.callTool({ name: "nothing", arguments: {} }).catch((error) => error.code);
const names = tools.map((tool) => tool.name);
console.log(JSON.stringify({ names, hello, secret, asked, messages, unknown }));
await client.close();

// List the tools of both servers and call one, with the client of the SDK.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const ask = async (...options) => {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: ["server.js", ...options] }));
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: "find", arguments: { query: "cats", page: 2 } });
  await client.close();
  return [Object.fromEntries(tools.map((tool) => [tool.name, tool.inputSchema])), content];
};

const [plain, plainCalled] = await ask();
const [portable, called] = await ask("portable");
console.log(JSON.stringify({ plain, portable, called, plainCalled }));

// The low-level server of the TypeScript SDK 2: `node sdk2.mjs TABLE` serves over stdio, with `TOKEN PORT` over HTTP.
import { timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/server";

const [table, token, port] = process.argv.slice(2);
const tools = JSON.parse(readFileSync(table, "utf8"));

async function call({ params }) {
  const text = params.name === "large" ? "x".repeat(params.arguments.size) : "done";
  return { content: [{ type: "text", text }] };
}

function makeServer() {
  const server = new Server({ name: "synthetic", version: "0.1.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools }));
  server.setRequestHandler("tools/call", call);
  return server;
}

if (port === undefined) {
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  serveStdio(makeServer);
} else {
  const { createServer } = await import("node:http");
  const { createMcpHandler } = await import("@modelcontextprotocol/server");
  const { localhostHostValidation, toNodeHandler } = await import("@modelcontextprotocol/node");
  const isHostValid = localhostHostValidation();
  const expected = Buffer.from(`Bearer ${token}`);
  const handle = toNodeHandler(createMcpHandler(makeServer));
  createServer((request, response) => {
    if (!isHostValid(request, response)) return;
    const given = Buffer.from(request.headers.authorization ?? "");
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      response.writeHead(401).end();
      return;
    }
    handle(request, response);
  }).listen(Number(port), "127.0.0.1");
}

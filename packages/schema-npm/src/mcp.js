import { advertise } from "./index.js";

const MAX_REMEMBERED = 1_000;
const remembered = new Map();

const textOf = (schema) => {
  try {
    return JSON.stringify(schema);
  } catch {
    return null; // a cycle, or a bigint
  }
};

const portableSchema = (schema) => {
  const key = textOf(schema);
  if (key === null) return advertise(schema).schema;
  if (!remembered.has(key)) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, advertise(schema).schema);
  }
  return structuredClone(remembered.get(key));
};

export const portableTools = (tools) => tools.map((tool) => ({ ...tool, inputSchema: portableSchema(tool.inputSchema) }));

// Only the answer to `tools/list` has `tools` in its result.
const withPortableTools = (message) =>
  Array.isArray(message?.result?.tools)
    ? { ...message, result: { ...message.result, tools: portableTools(message.result.tools) } }
    : message;

export const portable = (transport) => {
  if (typeof transport?.send !== "function") {
    throw new TypeError("`portable` needs a transport, such as `new StdioServerTransport()`, not a server");
  }
  const send = transport.send.bind(transport);
  transport.send = (message, ...options) => send(withPortableTools(message), ...options);
  return transport;
};

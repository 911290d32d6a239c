/** Make the tools of a server portable: its answers to `tools/list` have the schemas of `advertise`. Changes `transport`. */
export function portable<T extends { send(message: never, ...options: never[]): Promise<void> }>(transport: T): T;

/** Return tools with the schemas of `advertise`, for a `tools/list` handler of your own. */
export function portableTools<T extends { inputSchema: unknown }>(
  tools: readonly T[],
): (Omit<T, "inputSchema"> & { inputSchema: { type: "object"; [keyword: string]: unknown } })[];

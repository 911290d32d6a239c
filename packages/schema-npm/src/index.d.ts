/** A JSON Schema from draft-04 to 2020-12, or any other value, which becomes a finding. */
export type Schema = unknown;

/** A target or provider. Other names raise an error. */
export type Target = string;

/** How much a change affects a caller of the tool, worst first. */
export type Severity = "refused" | "breaks" | "narrowed" | "lossy" | "note";

/** One change or loss of a schema that is sent to a provider. */
export interface Finding {
  /** The location as a JSONPath: `$.properties.files.items`. */
  readonly path: string;
  /** The location as a JSON Pointer into the original schema. */
  readonly pointer: string;
  /** The keyword or construct, such as `$ref` or `oneOf`. */
  readonly pattern: string;
  readonly severity: Severity;
  /** False if the meaning is unchanged. */
  readonly lossy: boolean;
  readonly message: string;
  /** Part of the message that is equal for all findings of one rule of `check`. */
  readonly reason: string;
  /** What the author of the schema can write instead. */
  readonly fix: string;
  /** Whether all that is lost is that an object has no other properties. */
  readonly opensObject: boolean;
  /** The clients concerned; all without any. */
  readonly clients: readonly string[];
  /** The providers concerned; all without any. */
  readonly providers: readonly string[];
  /** The weighted share of clients that fail, from 0 to 1. */
  readonly share: number;
}

/** A schema in the dialect of a target, with a finding for every change. */
export interface Projection {
  readonly schema: { type: "object"; [keyword: string]: unknown };
  readonly findings: readonly Finding[];
  /** The original property name for each replacement. */
  readonly renamed: Readonly<Record<string, string>>;
  /** Whether some value that the original accepts is now rejected. */
  readonly narrows: boolean;
}

/** Every target and provider. */
export const targets: readonly Target[];

/** Return the `inputSchema` that an MCP server should send. With `rename`, names that a provider rejects are replaced. */
export function advertise(schema: Schema, options?: { rename?: boolean }): Projection;

/** Return the schema for a request to one provider. `rename` defaults to true where the provider rejects the request. */
export function project(schema: Schema, target: Target, options?: { rename?: boolean }): Projection;

/** Return what a provider would reject or lose of a schema that is sent unchanged, in document order. */
export function check(schema: Schema, target: Target): Finding[];

/** Return the findings about the schemas of tools, by their names, as text with a line for each cause. */
export function report(schemas: Readonly<Record<string, Schema>>, target?: Target): string;

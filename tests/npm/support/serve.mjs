// Answer requests `["function", argument, ...]`, one a line, with the package whose path is the argument.
import { createInterface } from "node:readline";

const library = await import(process.argv[2]);
const pair = (schema, target) => [library.project(schema, target), library.check(schema, target)];
const functions = { ...library, pair, targets: () => library.targets };

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...values] = JSON.parse(line);
  let answer;
  try {
    answer = { result: functions[name](...values) };
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

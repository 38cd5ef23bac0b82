/** Reads what the server asks for, by hand: the schemas of the contract take longer to load than Node takes to start. A test holds
 *  the two together. */
import type { ControlRequest } from "@drover/contract";

const LARGEST_SIZE = 1_000;
const LAST_PORT = 65_535;

type Fields = Readonly<Record<string, unknown>>;

function requireThat(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new TypeError(`this is no request: ${what}`);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isOptional = <T>(value: unknown, isIt: (value: unknown) => value is T): value is T | undefined =>
  value === undefined || isIt(value);
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
const isEnv = (value: unknown): value is Record<string, string> =>
  isFields(value) && Object.values(value).every(isText);
const isExtent = (value: unknown): value is number => isWhole(value) && value >= 1 && value <= LARGEST_SIZE;
const isSize = (value: unknown): value is { columns: number; rows: number } =>
  isFields(value) && isExtent(value["columns"]) && isExtent(value["rows"]);

export function parseSize(value: unknown): { readonly columns: number; readonly rows: number } {
  requireThat(isSize(value), "the size of a terminal");
  return value;
}

function parseExec({ argv, cwd, env, terminal, is_detached }: Fields): Extract<ControlRequest, { op: "exec" }> {
  requireThat(Array.isArray(argv) && argv.length > 0 && argv.every(isText), "argv");
  requireThat(isOptional(cwd, isText), "cwd");
  requireThat(isOptional(env, isEnv), "env");
  requireThat(isOptional(terminal, isSize), "terminal");
  requireThat(isOptional(is_detached, isFlag), "is_detached");
  return { op: "exec", argv, cwd, env, terminal, is_detached };
}

export function parseRequest(value: unknown): ControlRequest {
  requireThat(isFields(value), "no object");
  const { op, path } = value;
  if (op === "status") return { op };
  if (op === "exec") return parseExec(value);
  if (op === "connect") {
    const { port } = value;
    requireThat(isWhole(port) && port >= 1 && port <= LAST_PORT, "port");
    return { op, port };
  }
  requireThat(op === "read" || op === "write" || op === "list", "op");
  requireThat(isText(path), "path");
  if (op === "list") return { op, path };
  if (op === "read") {
    const { limit } = value;
    requireThat(isWhole(limit) && limit > 0, "limit");
    return { op, path, limit };
  }
  const { mode } = value;
  requireThat(isOptional(mode, isWhole), "mode");
  return { op, path, mode };
}

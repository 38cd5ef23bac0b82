/** Paths of a sandbox as plain processes see them: there is no /workspace where nothing is mounted. */
import type { ControlRequest } from "@drover/contract";
import { INSIDE, type Mounts } from "./bubblewrap.ts";
import type { Place } from "./places.ts";

const NAMES = Object.keys(INSIDE) as (keyof typeof INSIDE)[];

function toSeen(seen: Mounts, text: string): string {
  const name = NAMES.find((one) => text === INSIDE[one] || text.startsWith(`${INSIDE[one]}/`));
  return name === undefined ? text : seen[name] + text.slice(INSIDE[name].length);
}

export function toSeenRequest({ seen }: Pick<Place, "seen">, request: ControlRequest): ControlRequest {
  if (seen === undefined || request.op === "status" || request.op === "connect") return request;
  if (request.op !== "exec") return { ...request, path: toSeen(seen, request.path) };
  const env = Object.entries(request.env ?? {}).map(([name, value]) => [name, toSeen(seen, value)] as const);
  return {
    ...request,
    argv: request.argv.map((word) => toSeen(seen, word)),
    env: Object.fromEntries(env),
    ...(request.cwd === undefined ? {} : { cwd: toSeen(seen, request.cwd) }),
  };
}

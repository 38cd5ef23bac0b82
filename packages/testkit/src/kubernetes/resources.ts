/** What the emulated API server answers: pods and network policies of one namespace, and a status for everything else. */
import type { V1NetworkPolicy, V1Pod } from "@kubernetes/client-node";
import { complainOfMetadata, complainOfPod } from "./admission.ts";
import type { Asking } from "./api-server.ts";
import type { Pods } from "./pods.ts";
import type { Policies } from "./policies.ts";
import { complainOfObject } from "./published-schema.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface World {
  readonly namespace: string;
  readonly rules: readonly Rule[];
  readonly pods: Pods;
  readonly policies: Policies;
  readonly complaints: string[];
}

export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, message: string, reason: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export const toStatus = ({ status, message, reason }: Refusal) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code: status,
});

const has = (list: readonly string[], word: string) => list.includes("*") || list.includes(word);

export const isAllowed = (rules: readonly Rule[], group: string, resource: string, verb: string): boolean =>
  rules.some((rule) => has(rule.apiGroups, group) && has(rule.resources, resource) && has(rule.verbs, verb));

const PATH = /^\/(?:api|apis\/([^/]+))\/v1\/namespaces\/([^/]+)\/(pods|networkpolicies)(?:\/([^/]+))?$/;
const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", DELETE: "delete" };
/** So small that lists of tests have more than one page. */
const PAGE_SIZE = 2;

type Held = V1Pod | V1NetworkPolicy;

interface Place {
  readonly kind: "Pod" | "NetworkPolicy";
  readonly name: string | undefined;
  readonly verb: string;
}

function findPlace(world: World, { method, path }: Asking): Place {
  const [, group = "", namespace, resource, name] = PATH.exec(path) ?? [];
  if (resource === undefined) throw new Refusal(404, `the server could not find ${path}`, "NotFound");
  const verb = VERBS[method] ?? (name === undefined ? "list" : "get");
  if (!isAllowed(world.rules, group, resource, verb))
    throw new Refusal(403, `${resource} is forbidden: cannot ${verb}`, "Forbidden");
  if (namespace !== world.namespace) throw new Refusal(404, `namespaces "${namespace}" not found`, "NotFound");
  return { kind: resource === "pods" ? "Pod" : "NetworkPolicy", name, verb };
}

/** Everything that an API server would refuse is told to the test as well. */
async function requireValid(world: World, asked: Asking): Promise<Held> {
  const object = asked.body as Held;
  const own = object?.kind === "Pod" ? complainOfPod(object as V1Pod) : complainOfMetadata(object);
  const found = [...(await complainOfObject(asked.body)), ...own];
  if (asked.query.get("fieldValidation") !== "Strict") found.push("fieldValidation is not Strict");
  world.complaints.push(...found.map((text) => `${asked.method} ${asked.path}: ${text}`));
  if (found.length > 0) throw new Refusal(422, found.join("; "), "Invalid");
  return object;
}

function list(world: World, kind: Place["kind"], { query }: Asking): object {
  const wanted = (query.get("labelSelector") ?? "").split(",").filter((word) => word !== "");
  const fits = ({ metadata }: Held) =>
    wanted.every((word) => {
      const [name = "", value = ""] = word.split("=");
      return metadata?.labels?.[name] === value;
    });
  const start = Number(query.get("continue") ?? 0);
  const size = query.has("limit") ? PAGE_SIZE : Number.MAX_SAFE_INTEGER;
  const all: readonly Held[] = kind === "Pod" ? world.pods.list() : world.policies.list();
  const found = all.filter(fits);
  const more = start + size < found.length ? { continue: String(start + size) } : {};
  const items = found.slice(start, start + size);
  return { kind: `${kind}List`, apiVersion: "v1", metadata: { resourceVersion: "1", ...more }, items };
}

function requireSame(pod: Held, body: unknown): void {
  const { preconditions } = (body ?? {}) as { readonly preconditions?: { readonly uid?: string } };
  if (preconditions?.uid !== undefined && preconditions.uid !== pod.metadata?.uid)
    throw new Refusal(409, "the UID in the precondition does not match", "Conflict");
}

export async function answerRequest(world: World, asked: Asking): Promise<{ status: number; body: unknown }> {
  const { kind, name, verb } = findPlace(world, asked);
  const { pods, policies } = world;
  const find = (wanted: string) => (kind === "Pod" ? pods.find(wanted) : policies.find(wanted));
  const tell = async (status: number, object: Held) => {
    const complaints = await complainOfObject(object);
    world.complaints.push(...complaints.map((text) => `the answer to ${asked.method} ${asked.path}: ${text}`));
    return { status, body: object };
  };
  if (verb === "list") return { status: 200, body: list(world, kind, asked) };
  if (verb === "create") {
    const object = await requireValid(world, asked);
    const taken = object.metadata?.name ?? "";
    if (find(taken) !== undefined) throw new Refusal(409, `"${taken}" already exists`, "AlreadyExists");
    return tell(201, kind === "Pod" ? pods.create(object as V1Pod) : policies.put(object as V1NetworkPolicy));
  }
  const found = find(name ?? "");
  if (found === undefined) throw new Refusal(404, `"${name}" not found`, "NotFound");
  if (verb === "update") {
    const object = await requireValid(world, asked);
    if (kind === "Pod") throw new Refusal(405, "pods are not updated here", "MethodNotAllowed");
    return tell(200, policies.put(object as V1NetworkPolicy));
  }
  if (verb === "get") return tell(200, found);
  requireSame(found, asked.body);
  if (kind === "Pod") return tell(200, pods.remove(name ?? ""));
  policies.remove(name ?? "");
  return { status: 200, body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" } };
}

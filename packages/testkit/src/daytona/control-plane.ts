/** Daytona's control interface as far as the SDK asks for it here: sandboxes, their states, and snapshots. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openCell, type Cell } from "./cell.ts";
import type { FaultPlan } from "./faults.ts";
import { Refusal, type Answer, type Asked, type Route } from "./http-answer.ts";

/** As it goes over the wire. */
interface SandboxRecord {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  state: string;
  [field: string]: unknown;
}

interface Held {
  readonly record: SandboxRecord;
  readonly cell: Cell;
}

interface Snapshot {
  /** Undefined for one that came with the emulator: an empty sandbox. */
  readonly directory: string | undefined;
  readonly record: Readonly<Record<string, unknown>>;
}

export interface ControlOptions {
  readonly directory: string;
  /** Names of snapshots that are there from the beginning. */
  readonly snapshots: readonly string[];
  /** Only a virtual machine can be paused. */
  readonly sandboxClass: "container" | "linux-vm";
  readonly faults: FaultPlan;
  readonly toolboxUrl: () => string;
}

export interface ControlPlane {
  readonly routes: readonly Route[];
  /** By id only. */
  find(id: string): Held | undefined;
  /** Waits for what still happens and ends all sandboxes. */
  close(): Promise<void>;
}

/** So small that lists of tests have more than one page. */
const PAGE_SIZE = 2;
const DEFAULTS = {
  cpu: 1,
  memory: 1,
  disk: 3,
  gpu: 0,
  user: "daytona",
  target: "us",
  organizationId: "organization",
  public: false,
  networkBlockAll: false,
};
const RESOURCES = ["cpu", "memory", "disk", "gpu"] as const;

const toTexts = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(value ?? {}).map(([key, text]) => [key, String(text)]));

function toSnapshot(name: string, directory: string | undefined, sourceSandboxId: string | null): Snapshot {
  const now = new Date().toISOString();
  const size = { size: null, entrypoint: null, cpu: 1, gpu: 0, mem: 1, disk: 3 };
  const times = { createdAt: now, updatedAt: now, lastUsedAt: null };
  const base = { id: randomUUID(), general: false, name, state: "active", errorReason: null, sourceSandboxId };
  return { directory, record: { ...base, ...size, ...times } };
}

/** A list leaves out what only a single answer has. */
const toListItem = ({ env: _env, ...item }: SandboxRecord) => item;

export function openControlPlane(options: ControlOptions): ControlPlane {
  const held = new Map<string, Held>();
  const snapshots = new Map(options.snapshots.map((name) => [name, toSnapshot(name, undefined, null)]));
  const underway = new Set<Promise<void>>();

  const findByName = (name: string) => [...held.values()].find(({ record }) => record.name === name);
  const find = (idOrName: string): Held => {
    const found = held.get(idOrName) ?? findByName(idOrName);
    if (found === undefined) throw new Refusal(404, `Sandbox ${idOrName} not found`, "NOT_FOUND");
    return found;
  };

  /** Changes go on after the answer, as at Daytona; one at a time. */
  const change = ({ record }: Held, during: string, work: () => Promise<string>): Answer => {
    record.state = during;
    const doing = work().then(
      (state) => void (record.state = state),
      (error: unknown) => void Object.assign(record, { state: "error", errorReason: String(error) }),
    );
    underway.add(doing);
    void doing.finally(() => underway.delete(doing));
    return { status: 200, body: { ...record } };
  };
  const refuseUnless = (isAllowed: boolean, record: SandboxRecord) => {
    if (!isAllowed) throw new Refusal(400, `Sandbox is ${record.state}: state change in progress or not possible`);
  };

  const pickSnapshot = (wanted: Readonly<Record<string, unknown>>): Snapshot | undefined => {
    const { snapshot: name, buildInfo } = wanted;
    if (buildInfo !== undefined) {
      if (name !== undefined) throw new Refusal(400, "Cannot specify a snapshot when using a build info entry");
      return undefined;
    }
    if (RESOURCES.some((resource) => wanted[resource] !== undefined))
      throw new Refusal(400, "Cannot specify Sandbox resources when using a snapshot");
    const snapshot = snapshots.get(String(name));
    if (snapshot === undefined) throw new Refusal(400, `Snapshot ${String(name)} not found`);
    return snapshot;
  };

  const create = ({ json }: Asked): Answer => {
    const wanted = json();
    const snapshot = pickSnapshot(wanted);
    const id = randomUUID();
    const name = typeof wanted["name"] === "string" ? wanted["name"] : id;
    if (findByName(name) !== undefined) throw new Refusal(409, `Sandbox with name ${name} already exists`);
    const { buildInfo: _buildInfo, ttlMinutes: _ttl, ...given } = wanted;
    const now = new Date().toISOString();
    const env = toTexts(wanted["env"]);
    const record: SandboxRecord = {
      ...DEFAULTS,
      ...given,
      id,
      name,
      env,
      labels: toTexts(wanted["labels"]),
      state: "creating",
      sandboxClass: options.sandboxClass,
      createdAt: now,
      updatedAt: now,
      toolboxProxyUrl: options.toolboxUrl(),
    };
    const made = { record, cell: openCell(join(options.directory, "sandboxes", id), env, snapshot?.directory) };
    held.set(id, made);
    return change(made, snapshot === undefined ? "building_snapshot" : "creating", async () => {
      await options.faults.creationAllowed();
      const failure = options.faults.takeFailure();
      if (failure !== undefined) {
        record["errorReason"] = failure.errorReason;
        return failure.state;
      }
      await made.cell.start();
      return "started";
    });
  };

  const list = ({ url }: Asked): Answer => {
    const wanted = Object.entries(toTexts(JSON.parse(url.searchParams.get("labels") ?? "{}")));
    const fits = ({ record }: Held) => wanted.every(([key, value]) => record.labels[key] === value);
    const start = Number(url.searchParams.get("cursor") ?? 0);
    const found = [...held.values()].filter(fits).map(({ record }) => toListItem(record));
    const nextCursor = start + PAGE_SIZE < found.length ? String(start + PAGE_SIZE) : null;
    return { status: 200, body: { items: found.slice(start, start + PAGE_SIZE), nextCursor } };
  };

  const destroy = ({ parts: [name = ""] }: Asked): Answer => {
    const doomed = find(name);
    const { record } = doomed;
    refuseUnless(!["creating", "stopping", "destroying"].includes(record.state), record);
    return change(doomed, "destroying", async () => {
      await doomed.cell.remove();
      held.delete(record.id);
      return "destroyed";
    });
  };

  const snapshot = ({ parts: [name = ""], json }: Asked): Answer => {
    const source = find(name);
    const title = String(json()["name"]);
    if (snapshots.has(title)) throw new Refusal(409, `Snapshot ${title} already exists`);
    refuseUnless(source.record.state === "started", source.record);
    return change(source, "snapshotting", async () => {
      const directory = join(options.directory, "snapshots", randomUUID());
      await source.cell.copyTo(directory);
      snapshots.set(title, toSnapshot(title, directory, source.record.id));
      return "started";
    });
  };

  const start = ({ parts: [name = ""] }: Asked): Answer => {
    const asleep = find(name);
    const isPaused = asleep.record.state === "paused";
    refuseUnless(isPaused || asleep.record.state === "stopped", asleep.record);
    return change(asleep, isPaused ? "resuming" : "starting", async () => {
      if (isPaused) asleep.cell.signal("SIGCONT");
      else await asleep.cell.start();
      return "started";
    });
  };

  const stop = ({ parts: [name = ""] }: Asked): Answer => {
    const awake = find(name);
    refuseUnless(awake.record.state === "started", awake.record);
    return change(awake, "stopping", async () => {
      await awake.cell.stop();
      return "stopped";
    });
  };

  const pause = ({ parts: [name = ""] }: Asked): Answer => {
    const awake = find(name);
    refuseUnless(awake.record.state === "started" && options.sandboxClass === "linux-vm", awake.record);
    return change(awake, "pausing", async () => {
      awake.cell.signal("SIGSTOP");
      return "paused";
    });
  };

  const getSnapshot = ({ parts: [name = ""] }: Asked): Answer => {
    const found = snapshots.get(name);
    if (found === undefined) throw new Refusal(404, `Snapshot ${name} not found`, "NOT_FOUND");
    return { status: 200, body: found.record };
  };

  const get = ({ parts: [name = ""] }: Asked): Answer => ({ status: 200, body: { ...find(name).record } });

  return {
    routes: [
      { method: "POST", path: /^\/sandbox$/, answer: create },
      { method: "GET", path: /^\/sandbox$/, answer: list },
      { method: "GET", path: /^\/sandbox\/([^/]+)$/, answer: get },
      { method: "DELETE", path: /^\/sandbox\/([^/]+)$/, answer: destroy },
      { method: "POST", path: /^\/sandbox\/([^/]+)\/start$/, answer: start },
      { method: "POST", path: /^\/sandbox\/([^/]+)\/stop$/, answer: stop },
      { method: "POST", path: /^\/sandbox\/([^/]+)\/pause$/, answer: pause },
      { method: "POST", path: /^\/sandbox\/([^/]+)\/snapshot$/, answer: snapshot },
      { method: "GET", path: /^\/snapshots\/([^/]+)$/, answer: getSnapshot },
    ],
    find: (id) => held.get(id),
    close: async () => {
      await Promise.all(underway);
      await Promise.all(Array.from(held.values(), ({ cell }) => cell.remove()));
    },
  };
}

/** Sandboxes on this machine: one long-lived bubblewrap each, with a supervisor of ours as its first process. */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, chown, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError } from "@drover/contract";
import type { Log } from "../ports/log.ts";
import type { SandboxInfo, SandboxProvider, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import { INSIDE } from "./local/bubblewrap.ts";
import { findCgroups, type Cgroup, type CgroupHost } from "./local/cgroup.ts";
import { callControl } from "./local/control.ts";
import {
  execInside,
  listInside,
  openTerminalInside,
  readInside,
  saveInside,
  statusInside,
  writeInside,
} from "./local/inside.ts";
import { launch } from "./local/launch.ts";
import { listPlaces, readNote, toPlace, writeNote, type Note, type Place } from "./local/places.ts";
import { findAlive, listResidents } from "./local/process-table.ts";
import { ensureRuntimeFiles, type RuntimeSources } from "./local/runtime-files.ts";
import { measureDisk, startWatchdog } from "./local/watchdog.ts";

const run = promisify(execFile);
const FIRST_UID = 20_000;
const LAST_UID = 59_999;
const GONE_LIMIT_MS = 10_000;
const READY_LIMIT_MS = 20_000;
const LOOK_EVERY_MS = 10;

export interface LocalOptions extends RuntimeSources {
  /** Where sandboxes are kept, below the data directory. */
  readonly base: string;
  readonly log: Log;
}

const BUBBLEWRAP = "/usr/bin/bwrap";

async function findBubblewrap(): Promise<string> {
  // Expected: a machine without it. Sandboxes without isolation are not an option.
  await access(BUBBLEWRAP, constants.X_OK).catch((cause: unknown) => {
    throw new AppError(
      "provider.unavailable",
      "provider local needs bubblewrap; install it (apt-get install bubblewrap)",
      { cause },
    );
  });
  return BUBBLEWRAP;
}

const isMatch = (note: Note, labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).every(([name, value]) => note.labels[name] === value);

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export async function openLocalProvider(options: LocalOptions): Promise<SandboxProvider> {
  const bubblewrap = await findBubblewrap();
  const runtime = `${options.base}.runtime`;
  await mkdir(options.base, { recursive: true, mode: 0o711 });
  await ensureRuntimeFiles(runtime, options);
  const groups: CgroupHost | undefined = await findCgroups();
  const isRoot = process.getuid?.() === 0;
  const watchdogs = new Map<string, () => void>();
  const ensuring = new Map<string, Promise<SandboxRef>>();

  const placeOf = (key: string) => toPlace(options.base, key);
  const groupName = (key: string) => `drover-${key}`;
  const findPid = async (place: Place) => findAlive(await readFile(place.process, "utf8").catch(() => ""));
  const openGroup = async (key: string): Promise<Cgroup | undefined> => groups?.open(groupName(key));

  const pickUid = async (): Promise<number | null> => {
    if (!isRoot) return null;
    const notes = await Promise.all((await listPlaces(options.base)).map(readNote));
    const used = new Set(notes.map((note) => note?.uid));
    for (let uid = FIRST_UID; uid <= LAST_UID; uid += 1) if (!used.has(uid)) return uid;
    throw new AppError("sandbox.unavailable", "every uid for sandboxes is taken; prune some");
  };

  /** One at a time, so that no two sandboxes get the same uid. */
  let noting: Promise<unknown> = Promise.resolve();
  const noteNew = (place: Place, spec: SandboxSpec): Promise<Note> => {
    const next = noting.then(async () => {
      const note: Note = {
        key: spec.key,
        labels: { ...spec.labels },
        limits: spec.limits,
        env: { ...spec.env },
        uid: await pickUid(),
        stopReason: null,
      };
      await writeNote(place, note);
      return note;
    });
    noting = next.catch(() => undefined);
    return next;
  };

  const watch = (place: Place, note: Note) => {
    watchdogs.get(note.key)?.();
    const stop = startWatchdog({
      pid: () => findPid(place),
      paths: [place.workspace, place.home],
      memoryBytes: groups === undefined ? note.limits.memoryBytes : undefined,
      diskBytes: note.limits.diskBytes,
      onExceeded: (reason) => {
        options.log.warn("sandbox.limit_exceeded", { key: note.key, reason });
        void writeNote(place, { ...note, stopReason: reason }).then(() => kill(place));
      },
    });
    watchdogs.set(note.key, stop);
  };

  const kill = async (place: Place): Promise<void> => {
    const deadlineMs = Date.now() + GONE_LIMIT_MS;
    for (let pid = await findPid(place); pid !== undefined; pid = await findPid(place)) {
      // The outer bubblewrap takes its pid namespace along. Expected: it ended between the look and the kill.
      try {
        process.kill(pid, "SIGKILL");
      } catch {}
      if (Date.now() > deadlineMs) throw new AppError("sandbox.unavailable", `process ${pid} does not end`);
      await pause(LOOK_EVERY_MS);
    }
  };

  const create = async (spec: SandboxSpec, signal: AbortSignal): Promise<SandboxRef> => {
    const place = placeOf(spec.key);
    const known = await readNote(place);
    const ref: SandboxRef = { key: spec.key, id: spec.key, labels: known?.labels ?? spec.labels };
    if (known !== undefined && (await findPid(place)) !== undefined) {
      if (!watchdogs.has(spec.key)) watch(place, known);
      return ref;
    }
    if (spec.snapshot !== undefined) await requireSnapshot(spec.snapshot);
    const note = known ?? (await noteNew(place, spec));
    for (const directory of [place.workspace, place.home, place.sockets]) {
      await mkdir(directory, { recursive: true, mode: directory === place.sockets ? 0o755 : 0o700 });
      if (note.uid !== null && directory !== place.sockets) await chown(directory, note.uid, note.uid);
    }
    const group = await groups?.create(groupName(spec.key), note.limits);
    await launch({
      place,
      runtime,
      bubblewrap,
      uid: note.uid,
      limits: note.limits,
      groupFiles: group?.procsFiles ?? [],
    });
    // The connection waits in the socket's queue until the supervisor runs; a bubblewrap that failed closes it instead.
    await callControl(
      place.control,
      { op: "status" },
      AbortSignal.any([signal, AbortSignal.timeout(READY_LIMIT_MS)]),
    ).catch(async (cause: unknown) => {
      const said = (await readFile(place.bootLog, "utf8").catch(() => "")).trim().slice(0, 500);
      throw new AppError("sandbox.unavailable", `the sandbox did not start${said === "" ? "" : `: ${said}`}`, {
        cause,
      });
    });
    watch(place, note);
    if (spec.snapshot !== undefined) await restore(place, note, spec.snapshot, signal);
    return ref;
  };

  const snapshotPath = (name: string) => join(`${options.base}.snapshots`, `${name}.tar`);

  const requireSnapshot = async (name: string) => {
    await access(snapshotPath(name)).catch((cause: unknown) => {
      throw new AppError("sandbox.rejected", `there is no snapshot ${name}`, { cause });
    });
  };

  const restore = async (place: Place, note: Note, name: string, signal: AbortSignal) => {
    const bytes = await readFile(snapshotPath(name));
    for await (const event of execInside(place, note, { argv: ["tar", "-C", "/", "-xf", "-"], stdin: bytes }, signal)) {
      if (event.type === "exit" && event.code !== 0)
        throw new AppError("sandbox.rejected", `snapshot ${name} could not be restored`);
    }
  };

  const require = async (ref: SandboxRef): Promise<{ place: Place; note: Note }> => {
    const place = placeOf(ref.key);
    const note = await readNote(place);
    if (note === undefined) throw new AppError("sandbox.unavailable", `there is no sandbox ${ref.key} here`);
    return { place, note };
  };

  return {
    name: "local",
    capabilities: {
      pause: true,
      snapshot: true,
      terminal: true,
      socketDirectory: true,
      egressPolicy: true,
      survivesServer: true,
    },
    ensure: async (spec, signal) => {
      signal.throwIfAborted();
      const running = ensuring.get(spec.key);
      if (running !== undefined) return running;
      const work = create(spec, signal).finally(() => ensuring.delete(spec.key));
      ensuring.set(spec.key, work);
      return work;
    },
    exec: async function* (ref, command, signal) {
      const { place, note } = await require(ref);
      const group = await openGroup(ref.key);
      const before = (await group?.countOomKills()) ?? 0;
      for await (const event of execInside(place, note, command, signal)) {
        if (event.type !== "exit") yield event;
        else yield { ...event, isOomKilled: ((await group?.countOomKills()) ?? 0) > before };
      }
    },
    startDetached: async (ref, command, signal) => {
      const { place, note } = await require(ref);
      const env = { ...note.env, ...command.env };
      await callControl(
        place.control,
        { op: "exec", argv: [...command.argv], cwd: command.cwd ?? INSIDE.workspace, env, is_detached: true },
        signal,
        command.stdin ?? new Uint8Array(),
      );
    },
    openTerminal: async (ref, size, signal) => {
      const { place, note } = await require(ref);
      return openTerminalInside(place, note, size, signal);
    },
    upload: async (ref, path, bytes, { mode }, signal) =>
      writeInside((await require(ref)).place, path, bytes, mode, signal),
    download: async (ref, path, limitBytes, signal) => readInside((await require(ref)).place, path, limitBytes, signal),
    listFiles: async (ref, path, signal) => listInside((await require(ref)).place, path, signal),
    socketDirectory: (ref) => placeOf(ref.key).sockets,
    info: async (ref, signal): Promise<SandboxInfo | undefined> => {
      const place = placeOf(ref.key);
      const note = await readNote(place);
      if (note === undefined) return undefined;
      const [pid, group] = [await findPid(place), await openGroup(ref.key)];
      const isFrozen = (await group?.isFrozen()) ?? false;
      const oomKills = (await group?.countOomKills()) ?? 0;
      const residents = group === undefined && pid !== undefined ? await listResidents(pid) : [];
      const measured = (await group?.usage()) ?? {
        memoryBytes: residents.reduce((sum, one) => sum + one.memoryBytes, 0),
        processes: residents.length,
      };
      return {
        state: pid === undefined ? "stopped" : isFrozen ? "paused" : "running",
        reason:
          pid === undefined
            ? (note.stopReason ?? (oomKills > 0 ? "out of memory" : "its first process has ended"))
            : null,
        isOomKilled: oomKills > 0 || (note.stopReason?.endsWith("of memory") ?? false),
        limits: note.limits,
        enforcedBy: {
          memory: groups?.kind ?? "watchdog",
          cpu: groups?.kind ?? "none",
          processes: groups?.kind ?? "rlimit",
          disk: "watchdog",
          network: "namespaces",
          isolation: "namespaces",
        },
        ended: pid === undefined || isFrozen ? [] : await statusInside(place, signal),
        usage: { ...measured, diskBytes: await measureDisk([place.workspace, place.home]) },
      };
    },
    list: async (labels, signal) => {
      signal.throwIfAborted();
      const found: SandboxRef[] = [];
      for (const place of await listPlaces(options.base)) {
        const note = await readNote(place);
        if (note !== undefined && isMatch(note, labels))
          found.push({ key: note.key, id: note.key, labels: note.labels });
      }
      return found;
    },
    pause: async (ref) => {
      const { place } = await require(ref);
      const group = await openGroup(ref.key);
      if (group !== undefined) return group.freeze(true);
      for (const one of await listResidents((await findPid(place)) ?? 0)) process.kill(one.pid, "SIGSTOP");
    },
    resume: async (ref) => {
      const { place } = await require(ref);
      const group = await openGroup(ref.key);
      if (group !== undefined) return group.freeze(false);
      for (const one of await listResidents((await findPid(place)) ?? 0)) process.kill(one.pid, "SIGCONT");
    },
    snapshot: async (ref, name, signal) => {
      const { place, note } = await require(ref);
      await mkdir(`${options.base}.snapshots`, { recursive: true, mode: 0o700 });
      await saveInside(place, note, snapshotPath(name), signal);
      return { snapshot: name };
    },
    destroy: async (ref) => {
      const place = placeOf(ref.key);
      watchdogs.get(ref.key)?.();
      watchdogs.delete(ref.key);
      const group = await openGroup(ref.key);
      if (group !== undefined && (await group.isFrozen())) await group.freeze(false);
      await kill(place);
      await group?.remove();
      // `rm` walks by descriptors: names as long and trees as deep as an agent can make them do not stop it.
      await run("/bin/rm", ["-rf", "--", place.root]);
    },
    close: async () => {
      for (const stop of watchdogs.values()) stop();
    },
  };
}

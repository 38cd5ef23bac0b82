/** Sandboxes on this machine: one long-lived bubblewrap each, with a supervisor of ours as its first process. */
import { randomBytes } from "node:crypto";
import { access, chown, mkdir, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "@drover/contract";
import type {
  SandboxInfo,
  SandboxLimits,
  SandboxProvider,
  SandboxRef,
  SandboxSpec,
} from "../ports/sandbox-provider.ts";
import type { Mounts } from "./local/bubblewrap.ts";
import { findCgroups, type Cgroup, type CgroupHost } from "./local/cgroup.ts";
import { callControl } from "./local/control.ts";
import { canMountImages, isImageSize, openDiskImages } from "./local/disk-image.ts";
import { killAll, removeTree, sendSignal, signalAll } from "./local/end.ts";
import {
  execInside,
  listInside,
  openTerminalInside,
  readInside,
  restoreInside,
  saveInside,
  statusInside,
  toAbsolute,
  writeInside,
} from "./local/inside.ts";
import { connectInside } from "./local/connect-inside.ts";
import { findBubblewrap, type BubblewrapOptions } from "./local/find-bubblewrap.ts";
import { openLaunch, SHOWN } from "./local/launch.ts";
import { openLaunchesAhead } from "./local/launch-ahead.ts";
import { openNotes } from "./local/notes.ts";
import { listPlaces, makePlace, readNote, readNotedProcess, toPlace, type Note, type Place } from "./local/places.ts";
import { listPlainProcesses } from "./local/plain-processes.ts";
import {
  findAlive,
  isNamedAlive,
  listResidents,
  nameOwnProcess,
  openStrangers,
  readKernelUids,
  type Resident,
} from "./local/process-table.ts";
import { report } from "./local/report.ts";
import { ensureRuntimeFiles, type RuntimeSources } from "./local/runtime-files.ts";
import { requireIsolation, toSelfTestArgv } from "./local/self-test.ts";
import { showAgents } from "./local/shown-agents.ts";
import { openShownEtc } from "./local/shown-etc.ts";
import { startWatchdog } from "./local/watchdog.ts";
import { openWarmPool } from "./warm-pool.ts";

/** Ends one that hangs; on a machine with more work than processors a start may take long and is no failure. */
const READY_LIMIT_MS = 60_000;
/** Until bubblewrap has its uid. */
const LOOK_EVERY_MS = 2;
/** A supervisor that was stopped from inside must not hold up whoever looks at all sandboxes. */
const STATUS_LIMIT_MS = 3_000;
/** Sandboxes of this process that no row knows; the name of the process follows. */
const SELF_TEST = "self-test-";
const WARM = "warm-";
const AHEAD = "ahead-";
const OWNED = new RegExp(`^(?:${SELF_TEST}|${WARM}|${AHEAD})(\\d+-\\d+)-`);
const SNAPSHOT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,120}$/;
const TEST_LIMITS = { memoryBytes: 256 * 1024 * 1024, cpus: 1, diskBytes: 64 * 1024 * 1024, processes: 64 };

export interface LocalOptions extends RuntimeSources, BubblewrapOptions {
  /** Where sandboxes are kept, below the data directory. */
  readonly base: string;
  /** How many stand ready before they are asked for; none unless told. */
  readonly warm?: { readonly size: number; readonly limits: SandboxLimits };
}

const isMatch = (note: Note, labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).every(([name, value]) => note.labels[name] === value);

export async function openLocalProvider(options: LocalOptions): Promise<SandboxProvider> {
  const bubblewrap = await findBubblewrap(options);
  const isPlain = bubblewrap === undefined;
  await mkdir(options.base, { recursive: true, mode: 0o711 });
  const runtime = await ensureRuntimeFiles(`${options.base}.runtime`, options);
  const launch = await openLaunch(runtime.directory);
  const disks = openDiskImages(`${options.base}.images`);
  const groups: CgroupHost | undefined = await findCgroups();
  const isRoot = process.getuid?.() === 0;
  const notes = openNotes(options.base, isRoot);
  const findStrangers = openStrangers();
  const watchdogs = new Map<string, () => void>();
  const ensuring = new Map<string, Promise<SandboxRef>>();
  const closing = new AbortController();

  /** Plain processes see this machine's files; as root through mounts, because their uid cannot walk to the data directory. */
  const toSeen = (key: string): Mounts => {
    const { workspace, home, sockets } = toPlace(options.base, key);
    return isRoot ? SHOWN : { workspace, home, sockets, runtime: runtime.directory };
  };
  const placeOf = (key: string) => toPlace(options.base, key, isPlain ? toSeen(key) : undefined);
  const groupName = (key: string) => `drover-${key}`;
  const findPid = (place: Place) => findAlive(readNotedProcess(place));
  const openNotedGroup = (key: string, note: Note | undefined): Cgroup | undefined =>
    groups?.open(note?.group ?? groupName(key));
  const openGroup = async (key: string): Promise<Cgroup | undefined> =>
    openNotedGroup(key, await readNote(placeOf(key)));
  const ownKey = (prefix: string) => `${prefix}${nameOwnProcess()}-${randomBytes(4).toString("hex")}`;
  // For whoever is no root there is nothing to be mounted ahead.
  const ahead = isRoot && !isPlain ? openLaunchesAhead(launch, () => placeOf(ownKey(AHEAD))) : undefined;

  let images: Promise<boolean> | undefined;
  const hasImages = () => (images ??= isRoot && !isPlain ? canMountImages(runtime.directory) : Promise.resolve(false));

  const ensureEtc = openShownEtc(join(runtime.directory, "etc"));

  const residentsOf = async (place: Place): Promise<readonly Resident[]> => {
    const [pid, note] = [findPid(place), await readNote(place)];
    const below = pid === undefined ? [] : listResidents(pid);
    return isPlain && note !== undefined ? listPlainProcesses(note, pid, below) : below;
  };
  const countOomKills = async (key: string, group: Cgroup | undefined): Promise<number> =>
    group?.countOomKills() ?? (await readNote(placeOf(key)))?.watchdogKills ?? 0;

  const watch = (place: Place, note: Note) => {
    watchdogs.get(note.key)?.();
    const stop = startWatchdog({
      residents: () => residentsOf(place),
      paths: [place.workspace, place.home],
      memoryBytes: groups === undefined ? note.limits.memoryBytes : undefined,
      diskBytes: note.hasImage ? undefined : note.limits.diskBytes,
      onMemory: async (victim) => {
        options.log.warn("sandbox.memory_exceeded", { key: note.key, pid: victim.pid, bytes: victim.memoryBytes });
        await notes.change(place, ({ watchdogKills }) => ({ watchdogKills: watchdogKills + 1 }));
        sendSignal(victim.pid, "SIGKILL");
      },
      onExceeded: async (reason) => {
        options.log.warn("sandbox.limit_exceeded", { key: note.key, reason });
        await notes.change(place, () => ({ stopReason: reason }));
        await kill(place);
      },
    });
    watchdogs.set(note.key, stop);
  };

  const kill = async (place: Place): Promise<void> => {
    // Also those that were seen once, and those of its group: when the outer one is gone, its namespace may take a moment longer.
    const seen = new Map<number, string>();
    const group = await openGroup(place.key);
    return killAll(async () => {
      const pid = findPid(place);
      const found = [...(await pidsOf(place)), ...(group?.pids() ?? [])];
      for (const one of [...(pid === undefined ? [] : [pid]), ...found])
        if (!seen.has(one)) seen.set(one, await readFile(`/proc/${one}/stat`, "utf8").catch(() => ""));
      return [...seen.values()].flatMap((stat) => findAlive(stat) ?? []);
    });
  };

  /** Looked at beside the start, when it has its uid and nothing runs in it: of two who begin at once, one at least sees the other. */
  const isUidShared = async (place: Place, note: Note, answered: Promise<unknown>): Promise<boolean> => {
    if (note.uid === null) return false;
    let isUp = false;
    // Whether it answers is for whoever asked.
    answered.catch(() => undefined).finally(() => (isUp = true));
    for (let outer = findPid(place); ; outer = findPid(place)) {
      const isOwner = outer !== undefined && readKernelUids(outer).includes(note.uid);
      if (outer !== undefined && (isOwner || isUp)) return (await findStrangers(note.uid, outer)).length > 0;
      if (isUp) return false;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  };

  /** Its shell starts, and mounts what is mounted, while the rest is made. */
  const start = async (place: Place, spec: SandboxSpec, known: Note | undefined) => {
    const { limits } = known ?? spec;
    const hasImage = known?.hasImage ?? (isImageSize(limits.diskBytes) && (await hasImages()));
    const agents = await showAgents(runtime.directory, spec.agents ?? [], isPlain && !isRoot);
    const options = { place, runtime, bubblewrap, isRoot, limits, hasImage, agents };
    const isNew = known === undefined && !OWNED.test(spec.key);
    let launched = isNew ? await ahead?.take(options) : undefined;
    makePlace(place);
    launched ??= await launch(options);
    try {
      const [note, group] = await Promise.all([
        known ?? notes.noteNew(place, spec, hasImage),
        groups?.create(groupName(spec.key), limits),
        isPlain ? undefined : ensureEtc(),
        hasImage ? disks.ensure(place.image, limits.diskBytes) : undefined,
      ]);
      const { uid } = note;
      if (uid !== null) for (const directory of [place.workspace, place.home]) await chown(directory, uid, uid);
      return { note, boot: await launched.tell({ uid, groupFiles: group?.joinFiles ?? [] }) };
    } catch (error) {
      void launched.leave();
      throw error;
    }
  };

  const create = async (spec: SandboxSpec, signal: AbortSignal): Promise<SandboxRef> => {
    const place = placeOf(spec.key);
    const known = await readNote(place);
    const ref: SandboxRef = { key: spec.key, id: spec.key, labels: known?.labels ?? spec.labels };
    if (known !== undefined && findPid(place) !== undefined) {
      if (!watchdogs.has(spec.key)) watch(place, known);
      return ref;
    }
    if (known === undefined && !OWNED.test(spec.key)) {
      const warm = await pool.take(spec, signal);
      if (warm !== undefined && (await claim(warm, spec))) return ref;
    }
    if (spec.snapshot !== undefined) await requireSnapshot(spec.snapshot);
    const { note, boot } = await start(place, spec, known);
    let isShared: boolean;
    // The connection waits in the socket's queue until the supervisor runs; a bubblewrap that failed closes it instead.
    try {
      const ready = AbortSignal.any([signal, AbortSignal.timeout(READY_LIMIT_MS)]);
      const answered = callControl(place, { op: "status" }, ready);
      [isShared] = await Promise.all([isUidShared(place, note, answered), answered, boot.mounted]);
    } catch (cause) {
      const said = boot.said();
      throw new AppError("sandbox.unavailable", `the sandbox did not start${said === "" ? "" : `: ${said}`}`, {
        cause,
      });
    } finally {
      boot.close();
    }
    if (known === undefined && isShared && note.uid !== null) {
      notes.avoid(note.uid);
      await destroy(place);
      return create(spec, signal);
    }
    watch(place, note);
    if (spec.snapshot !== undefined) await restoreInside(place, note, snapshotPath(spec.snapshot), signal);
    return ref;
  };

  /** Gives a ready sandbox its name: nothing inside knows it, and what is open stays open when its directory is renamed.
   *  False when the name is taken meanwhile. */
  const claim = async (warm: Place, { key, labels, env }: SandboxSpec): Promise<boolean> => {
    const place = placeOf(key);
    watchdogs.get(warm.key)?.();
    watchdogs.delete(warm.key);
    let note: Note | undefined;
    try {
      // Told before it is renamed: a server that dies between the two leaves one of its own, which the next one removes.
      note = await notes.change(warm, () => ({
        key,
        labels: { ...labels },
        env: { ...env },
        group: groupName(warm.key),
      }));
      await rename(warm.root, place.root);
    } catch (error) {
      options.log.debug("sandbox.claim_failed", { key, reason: String(error) });
      await destroy(warm);
      return false;
    }
    if (note !== undefined) watch(place, note);
    return true;
  };

  const pool = openWarmPool<SandboxSpec, Place>({
    size: isPlain ? 0 : (options.warm?.size ?? 0),
    first: { key: WARM, labels: {}, env: {}, limits: options.warm?.limits ?? TEST_LIMITS },
    // Labels, variables and the name are told outside; everything else is decided when it is made.
    toShape: ({ limits, agents = [], snapshot, image }) =>
      snapshot === undefined && image === undefined ? JSON.stringify([limits, agents]) : undefined,
    make: async ({ limits, agents = [] }, signal) => {
      await ensureTested(signal);
      const key = ownKey(WARM);
      // Nobody else knows of it: one that was not finished is removed at once.
      await create({ key, labels: {}, env: {}, limits, agents }, signal).catch(async (error: unknown) => {
        await destroy({ key });
        throw error;
      });
      return placeOf(key);
    },
    isReady: async (warm, signal, isTaken) => {
      // Whoever takes it asks it at once: that it lives is enough, and nothing has ever run in it.
      if (isTaken) return findPid(warm) !== undefined;
      await callControl(warm, { op: "status" }, AbortSignal.any([signal, AbortSignal.timeout(STATUS_LIMIT_MS)]));
      return true;
    },
    discard: (warm) => destroy(warm),
    log: options.log,
  });

  const testIsolation = async (signal: AbortSignal): Promise<void> => {
    const key = ownKey(SELF_TEST);
    try {
      const ref = await create({ key, labels: {}, limits: TEST_LIMITS, env: {} }, signal);
      const { place, note } = await require(ref);
      const uids = (await residentsOf(place)).map(({ pid }) => readKernelUids(pid));
      const argv = toSelfTestArgv(dirname(options.base));
      let output = "";
      for await (const event of execInside(place, note, { argv }, signal))
        if (event.type === "stdout") output += Buffer.from(event.chunk).toString();
      requireIsolation({ output, kernelUid: Math.min(...uids.flat()) });
    } finally {
      // Also when it was not finished, because the server stops: nobody else knows of it.
      await destroy({ key });
    }
  };

  /** Once per start and only when a sandbox is to be made: whoever just lists or removes need not wait for it. Whoever gives up leaves it to
   *  the others. */
  let tested: Promise<void> | undefined;
  const ensureTested = async (signal: AbortSignal): Promise<void> => {
    if (isPlain) return;
    tested ??= testIsolation(closing.signal).catch((error: unknown) => {
      tested = undefined;
      throw error;
    });
    await tested;
    signal.throwIfAborted();
  };

  const snapshotPath = (name: string) => {
    // A name with a path in it would be a way to every tar file of this machine.
    if (!SNAPSHOT_NAME.test(name)) throw new AppError("sandbox.rejected", "this is no name of a snapshot");
    return join(`${options.base}.snapshots`, `${name}.tar`);
  };

  const requireSnapshot = async (name: string) => {
    await access(snapshotPath(name)).catch((cause: unknown) => {
      throw new AppError("sandbox.rejected", `there is no snapshot ${name}`, { cause });
    });
  };

  const require = async (ref: SandboxRef): Promise<{ place: Place; note: Note }> => {
    const place = placeOf(ref.key);
    const note = await readNote(place);
    if (note === undefined) throw new AppError("sandbox.unavailable", `there is no sandbox ${ref.key} here`);
    return { place, note };
  };

  const pidsOf = async (place: Place) => (await residentsOf(place)).map(({ pid }) => pid);

  /** One that does not answer in time tells nothing; that it stands is seen from outside. */
  const loadEnded = (place: Place, signal: AbortSignal) =>
    statusInside(place, AbortSignal.any([signal, AbortSignal.timeout(STATUS_LIMIT_MS)])).catch((error: unknown) => {
      if (signal.aborted) throw error;
      options.log.debug("sandbox.supervisor_silent", { key: place.key, reason: String(error) });
      return [];
    });

  const destroy = async (ref: Pick<SandboxRef, "key">): Promise<void> => {
    const place = placeOf(ref.key);
    watchdogs.get(ref.key)?.();
    watchdogs.delete(ref.key);
    const group = await openGroup(ref.key);
    if (group !== undefined && group.isFrozen()) await group.freeze(false);
    await kill(place);
    await group?.remove();
    await removeTree(place.root);
  };

  /** Of a server that was killed. No row knows them, so nobody else would remove them. */
  const removeUnowned = async (): Promise<void> => {
    for (const { key } of await listPlaces(options.base)) {
      const [, owner] = OWNED.exec(key) ?? [];
      if (owner !== undefined && !isNamedAlive(owner)) await destroy({ key });
    }
  };
  await removeUnowned();

  return {
    name: "local",
    capabilities: {
      pause: true,
      snapshot: !isPlain,
      terminal: true,
      socketDirectory: !isPlain,
      egressPolicy: !isPlain,
      mounts: true,
      survivesServer: true,
    },
    ensure: async (spec, signal) => {
      signal.throwIfAborted();
      const running = ensuring.get(spec.key);
      if (running !== undefined) return running;
      const work = ensureTested(signal)
        .then(() => create(spec, signal))
        .finally(() => ensuring.delete(spec.key));
      ensuring.set(spec.key, work);
      return work;
    },
    exec: async function* (ref, command, signal) {
      const { place, note } = await require(ref);
      const group = openNotedGroup(ref.key, note);
      const before = await countOomKills(ref.key, group);
      for await (const event of execInside(place, note, command, signal)) {
        if (event.type !== "exit") yield event;
        else yield { ...event, isOomKilled: (await countOomKills(ref.key, group)) > before };
      }
    },
    startDetached: async (ref, command, signal) => {
      const { place, note } = await require(ref);
      const env = { ...note.env, ...command.env };
      await callControl(
        place,
        { op: "exec", argv: [...command.argv], cwd: toAbsolute(command.cwd ?? ""), env, is_detached: true },
        signal,
        { input: command.stdin ?? new Uint8Array() },
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
    // Plain processes have the loopback of this machine: a way to it would be a way to everything that listens there.
    ...(isPlain
      ? {}
      : { connect: async (ref, port, signal) => connectInside((await require(ref)).place, port, signal) }),
    socketDirectory: (ref) => placeOf(ref.key).sockets,
    info: async (ref, signal): Promise<SandboxInfo | undefined> => {
      const place = placeOf(ref.key);
      const note = await readNote(place);
      if (note === undefined) return undefined;
      const [pid, group] = [findPid(place), openNotedGroup(ref.key, note)];
      const oomKills = await countOomKills(ref.key, group);
      const standing = { place, note, pid, group, oomKills, residents: () => residentsOf(place) };
      return report(standing, { groups, isPlain, isRoot }, () => loadEnded(place, signal));
    },
    list: async (labels, signal) => {
      signal.throwIfAborted();
      const found: SandboxRef[] = [];
      for (const place of await listPlaces(options.base)) {
        const note = await readNote(place);
        if (note !== undefined && !OWNED.test(place.key) && isMatch(note, labels))
          found.push({ key: note.key, id: note.key, labels: note.labels });
      }
      return found;
    },
    pause: async (ref) => {
      const { place } = await require(ref);
      const group = await openGroup(ref.key);
      if (group !== undefined) return group.freeze(true);
      await notes.change(place, () => ({ isPaused: true }));
      await signalAll(() => pidsOf(place), "SIGSTOP");
    },
    resume: async (ref) => {
      const { place } = await require(ref);
      const group = await openGroup(ref.key);
      if (group !== undefined) return group.freeze(false);
      await signalAll(() => pidsOf(place), "SIGCONT");
      await notes.change(place, () => ({ isPaused: false }));
    },
    snapshot: async (ref, name, signal) => {
      const { place, note } = await require(ref);
      if (isPlain) throw new AppError("sandbox.rejected", "plain processes have no snapshots");
      await mkdir(`${options.base}.snapshots`, { recursive: true, mode: 0o700 });
      await saveInside(place, note, snapshotPath(name), signal);
      return { snapshot: name };
    },
    destroy,
    close: async () => {
      closing.abort(new Error("the server stops"));
      await pool.close();
      await tested?.catch(() => undefined);
      await ahead?.close();
      await disks.close();
      for (const stop of watchdogs.values()) stop();
    },
  };
}
